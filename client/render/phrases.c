/* Arguments of findings that are prose: the daemon words them in English, a reader of
 * Chinese gets them in Chinese. '%' stands for a value, which is the same in both. */
#include <string.h>

#include "base/str.h"
#include "render/render_internal.h"

#define MOST_VALUES 2

struct phrase {
  const char *en, *zh;
};

static const struct phrase phrases[] = {
  /* ways out of a refusal */
  { "the keep_dtype line '%' asks for it; without it the op runs on the AI Core",
    "这是 keep_dtype 的行 '%' 要求的；没有该行，算子在 AI Core 上运行" },
  { "the customize_dtypes line '%' asks for it; choose dtypes of one column of its table",
    "这是 customize_dtypes 的行 '%' 要求的；请选用其算子表中某一列的数据类型" },
  { "mode origin never lowers a dtype; fp16 or mixed_float16 may",
    "origin 模式从不降低精度；fp16 或 mixed_float16 可以" },
  { "no mode helps: change the dtype in the model, or choose another target",
    "任何模式都无济于事：请修改模型中的数据类型，或选择其他芯片" },
  { "register it as a custom operator of the toolkit and use --backend=atc",
    "请在工具包中把它注册为自定义算子，并使用 --backend=atc" },
  /* what is missing */
  { "conversion from % to %", "从 % 到 % 的转换" },
  { "table entry that fits its number of tensors", "与其张量个数相符的算子表条目" },
  { "format", "格式" },
  { "matching column", "相符的列" },
  { "no fitting column", "任何相符的列" },
  { "has no such op", "没有该算子" },
  { "takes % for %", "支持 %（%）" },
  { "the AI Core has no such op, AI CPU has no such op",
    "AI Core 和 AI CPU 都没有该算子" },
  { "the AI Core has no such op, AI CPU takes % for %",
    "AI Core 没有该算子，AI CPU 支持 %（%）" },
  { "no table has this type", "没有任何算子表包含该类型" },
  /* lines of lists */
  { "earlier lines name the same ops", "前面的行已列出同样的算子" },
  { "no mode changes the dtype of Data, constants and ops without a kernel",
    "任何模式都不会改变 Data、常量和没有内核的算子的数据类型" },
  { "list the ops that read them instead", "请改为列出读取它们的算子" },
  { "remove the entry", "请删除该条目" },
  { "to make a type gray, use to-remove of the list it is on",
    "要把类型变为灰名单，请在它所在的名单上使用 to-remove" },
  { "gray-list to-add alone changes nothing", "单独使用 gray-list 的 to-add 不起作用" },
  { "the type is not on that list", "该类型不在那个名单上" },
  { "the type is on that list already", "该类型已经在那个名单上" },
  { "write %", "请写成 %" },
  { "a word in it is not a dtype", "其中有一个词不是数据类型" },
  { "neither InputDtype nor OutputDtype is in it",
    "其中既没有 InputDtype 也没有 OutputDtype" },
  { "no ':' after the name", "名称后面没有 ':'" },
  { "nothing follows the keyword", "关键字后面没有内容" },
  { "the name is empty", "名称为空" },
  { "float16, float32, bfloat16 or another dtype word",
    "float16、float32、bfloat16 或其他数据类型词" },
  { "inside a list only to-add and to-remove are known",
    "名单内只能有 to-add 和 to-remove" },
  { "it holds something that is not a string", "其中有不是字符串的内容" },
  { "it must be a list of type names", "它必须是类型名称的列表" },
  { "it must be an object with to-add and to-remove",
    "它必须是含有 to-add 和 to-remove 的对象" },
  { "its value must be an object", "它的值必须是对象" },
  { "only black-list, white-list and gray-list are known",
    "只能有 black-list、white-list 和 gray-list" },
  { "the key occurs twice", "该键出现了两次" },
};

/* The values behind '%' when the text is this phrase. */
static bool fits(const char *pattern, const char *text, struct oc_str *values)
{
  unsigned n = 0;

  for (;;) {
    size_t len = strcspn(pattern, "%");
    if (strncmp(pattern, text, len) != 0)
      return false;
    text += len;
    if (!pattern[len])
      return !*text;
    pattern += len + 1;
    size_t next = strcspn(pattern, "%");
    const char *end = next ? memmem(text, strlen(text), pattern, next) : NULL;
    if (!next)
      end = text + strlen(text);
    if (!end || n == MOST_VALUES)
      return false;
    values[n++] = (struct oc_str){ text, (size_t)(end - text) };
    text = end;
  }
}

int oc_render_phrase(const char *text, struct oc_buf *out)
{
  struct oc_str values[MOST_VALUES];
  unsigned at = 0;
  int rc = 0;

  for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
    if (!fits(phrases[i].en, text, values))
      continue;
    for (const char *p = phrases[i].zh; *p && !rc; p++) {
      if (*p != '%') {
        rc = oc_buf_putc(out, *p);
        continue;
      }
      rc = oc_buf_append(out, values[at].p, values[at].len);
      at++;
    }
    return rc;
  }
  return oc_buf_puts(out, text);
}
