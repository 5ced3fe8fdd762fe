/* Random numbers. */
#include "import/tensorflow/build.h"

const struct tf_rule tf_random_rules[] = {
  { "Multinomial", "Multinomial", "dtype seed seed2", NULL, NULL, TF_BY_NAME },
  { "ParameterizedTruncatedNormal", "ParameterizedTruncatedNormal", "seed seed2", NULL,
    NULL, TF_BY_NAME },
  { "RandomGamma", "RandomGamma", "seed seed2", NULL, NULL, TF_BY_NAME },
  { "RandomPoissonV2", "RandomPoisson", "dtype seed seed2", NULL, NULL, TF_BY_ENGINE },
  { "RandomShuffle", "RandomShuffle", "seed seed2", NULL, NULL, TF_BY_NAME },
  { "RandomStandardNormal", "RandomStandardNormal", "dtype seed seed2", NULL, NULL,
    TF_BY_NAME },
  { "RandomUniform", "RandomUniform", "dtype seed seed2", NULL, NULL, TF_BY_NAME },
  { "RandomUniformInt", "RandomUniformInt", "seed seed2", NULL, NULL, TF_BY_NAME },
  { "StatelessMultinomial", "StatelessMultinomial", "output_dtype", NULL, NULL,
    TF_BY_NAME },
  { "StatelessRandomNormalV2", "StatelessRandomNormalV2", "dtype", NULL, NULL,
    TF_BY_PLUGIN },
  { "StatelessRandomUniformV2", "StatelessRandomUniformV2", "dtype", NULL, NULL,
    TF_BY_NAME },
  { "StatelessRandomUniformIntV2", "StatelessRandomUniformIntV2", "", NULL, NULL,
    TF_BY_NAME },
  { "StatelessTruncatedNormalV2", "StatelessTruncatedNormalV2", "dtype", NULL, NULL,
    TF_BY_NAME },
  { "TruncatedNormal", "TruncatedNormal", "seed seed2 dtype", NULL, NULL, TF_BY_NAME },
  { 0 },
};
