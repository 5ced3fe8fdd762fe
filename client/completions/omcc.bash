# bash completion for omcc. Made from schema/flags.yaml by docs/generate.py.
_omcc()
{
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flag value words
  COMPREPLY=()
  # bash splits at '=': the flag is then one or two words back.
  if [[ $word == = ]]; then
    flag=$before value=
  elif [[ $before == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]} value=$word
  fi
  flag=${flag//-/_}
  flag=--${flag#__}
  case $flag in
  --mode)
    COMPREPLY=($(compgen -W '0 1 3 5 6 7 30' -- "$value"))
    return ;;
  --framework)
    COMPREPLY=($(compgen -W '0 1 3 5' -- "$value"))
    return ;;
  --virtual_type)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --core_type)
    COMPREPLY=($(compgen -W 'AiCore VectorCore' -- "$value"))
    return ;;
  --external_weight)
    COMPREPLY=($(compgen -W '0 1 2' -- "$value"))
    return ;;
  --save_original_model)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --deterministic)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --deterministic_level)
    COMPREPLY=($(compgen -W '0 1 2 3' -- "$value"))
    return ;;
  --is_weight_clip)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --quant_dumpable)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --disable_reuse_memory)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --enable_single_stream)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --ac_parallel_enable)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --tiling_schedule_optimize)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --enable_small_channel)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --enable_compress_weight)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --sparsity)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --buffer_optimize)
    COMPREPLY=($(compgen -W 'l1_optimize l2_optimize off_optimize' -- "$value"))
    return ;;
  --oo_level)
    COMPREPLY=($(compgen -W 'O1 O3' -- "$value"))
    return ;;
  --oo_constant_folding)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --oo_dead_code_elimination)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --topo_sorting_mode)
    COMPREPLY=($(compgen -W '0 1 2 3' -- "$value"))
    return ;;
  --shape_generalized_build_mode)
    COMPREPLY=($(compgen -W 'shape_generalized shape_precise' -- "$value"))
    return ;;
  --atomic_clean_policy)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --enable_attr_compression)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --precision_mode)
    COMPREPLY=($(compgen -W 'force_fp16 force_fp32 cube_fp16in_fp32out allow_mix_precision allow_mix_precision_fp16 allow_mix_precision_bf16 allow_fp32_to_fp16 allow_fp32_to_bf16 must_keep_origin_dtype' -- "$value"))
    return ;;
  --precision_mode_v2)
    COMPREPLY=($(compgen -W 'fp16 origin cube_fp16in_fp32out mixed_float16 mixed_bfloat16 cube_hif8 mixed_hif8' -- "$value"))
    return ;;
  --allow_hf32)
    COMPREPLY=($(compgen -W 'true false' -- "$value"))
    return ;;
  --op_select_implmode)
    COMPREPLY=($(compgen -W 'high_precision high_performance high_precision_for_all high_performance_for_all' -- "$value"))
    return ;;
  --jit_compile)
    COMPREPLY=($(compgen -W '0 1 2' -- "$value"))
    return ;;
  --op_debug_level)
    COMPREPLY=($(compgen -W '0 1 2 3 4' -- "$value"))
    return ;;
  --status_check)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --dump_mode)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --log)
    COMPREPLY=($(compgen -W 'debug info warning error null' -- "$value"))
    return ;;
  --op_compiler_cache_mode)
    COMPREPLY=($(compgen -W 'enable disable force' -- "$value"))
    return ;;
  --display_model_info)
    COMPREPLY=($(compgen -W '0 1' -- "$value"))
    return ;;
  --export_compile_stat)
    COMPREPLY=($(compgen -W '0 1 2' -- "$value"))
    return ;;
  --backend)
    COMPREPLY=($(compgen -W 'auto atc builtin' -- "$value"))
    return ;;
  --color)
    COMPREPLY=($(compgen -W 'auto always never' -- "$value"))
    return ;;
  --lang)
    COMPREPLY=($(compgen -W 'auto en zh' -- "$value"))
    return ;;
  --?*)
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$value"))
    return ;;
  esac
  if [[ $word == -* ]]; then
    compopt -o nospace
    COMPREPLY=($(compgen -W '--help --mode= --model= --weight= --om= --framework= --input_format= --input_shape= --input_shape_range= --input_hint_shape= --dynamic_batch_size= --dynamic_image_size= --dynamic_dims= --singleop= --output= --output_type= --check_report= --json= --host_env_os= --host_env_cpu= --soc_version= --virtual_type= --core_type= --aicore_num= --out_nodes= --input_fp16_nodes= --insert_op_conf= --op_name_map= --is_input_adjust_hw_layout= --is_output_adjust_hw_layout= --external_weight= --target= --save_original_model= --deterministic= --deterministic_level= --is_weight_clip= --quant_dumpable= --cluster_config= --hccl_sub_comm_config= --raw_ge_options= --raw_ge_options_ignore_unsupported --build_config= --disable_reuse_memory= --fusion_switch_file= --enable_scope_fusion_passes= --enable_single_stream= --ac_parallel_enable= --tiling_schedule_optimize= --enable_small_channel= --enable_compress_weight= --compress_weight_conf= --compression_optimize_conf= --sparsity= --buffer_optimize= --mdl_bank_path= --oo_level= --oo_constant_folding= --oo_dead_code_elimination= --topo_sorting_mode= --multi_stream_parallel_mode= --optimization_switch= --static_model_ops_lower_limit= --shape_generalized_build_mode= --atomic_clean_policy= --h2d_overlapped_with_compute= --enable_attr_compression= --precision_mode= --precision_mode_v2= --modify_mixlist= --op_precision_mode= --allow_hf32= --keep_dtype= --customize_dtypes= --op_select_implmode= --optypelist_for_implmode= --op_bank_path= --jit_compile= --op_debug_level= --op_debug_config= --status_check= --auto_tune_mode= --cal_conf= --dump_mode= --log= --debug_dir= --op_compiler_cache_mode= --op_compiler_cache_dir= --display_model_info= --device_id= --export_compile_stat= --backend= --link --relabel --cached_only --strict_lists --risk --passes= --dump_passes= --json --display --now --quiet --verbose --wide --color= --version --op= --filter= --diff --list_socs --lock= --check_lock= --check_list= --type= --lang=' -- "$word"))
    return
  fi
  words=
  case $before in
  cache) words='stats list has show get pin unpin verify gc clear' ;;
  daemon) words='start stop run' ;;
  help) words='flags findings status' ;;
  esac
  [[ $COMP_CWORD -eq 1 ]] && words='compile explain status cache why whence inspect ops lint-lists daemon help version'
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -F _omcc omcc
