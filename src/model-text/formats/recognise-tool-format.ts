import type { ToolFormatName } from './format-names.ts'

type Recognition = {
  readonly name: ToolFormatName
  /** Texts that all occur in the chat templates of this family. */
  readonly markers: readonly string[]
}

/** The more specific formats first: the first row whose markers all occur in a template applies. */
const recognitions: readonly Recognition[] = [
  { name: 'glimmer', markers: ['<atem:'] },
  { name: 'harmony', markers: ['<|channel|>', '<|message|>'] },
  { name: 'seed-oss', markers: ['<seed:tool_call>'] },
  { name: 'minimax-m3', markers: [']<]minimax[>['] },
  { name: 'minimax-m2', markers: ['<minimax:tool_call>'] },
  { name: 'deepseek-dsml', markers: ['｜DSML｜'] },
  { name: 'step3', markers: ['<steptml:'] },
  { name: 'deepseek', markers: ['<｜tool▁sep｜>', '```json'] },
  { name: 'deepseek-v3.1', markers: ['<｜tool▁sep｜>'] },
  { name: 'deepseek', markers: ['<｜tool▁calls▁begin｜>'] },
  { name: 'deepseek', markers: ['<｜tool▁outputs▁begin｜>'] },
  { name: 'kimi-k2', markers: ['<|tool_call_argument_begin|>'] },
  { name: 'kimi-k3', markers: ['<|open|>', '<|sep|>'] },
  { name: 'solar', markers: ['<|tool_call:begin|>'] },
  { name: 'gemma4', markers: ['<|tool_call>'] },
  { name: 'function-gemma', markers: ['<start_function_call>'] },
  { name: 'lfm2', markers: ['<|tool_call_start|>'] },
  { name: 'lfm2', markers: ['<|tool_list_start|>'] },
  { name: 'lfm2', markers: ['List of tools: ['] },
  { name: 'mistral-named', markers: ['[TOOL_CALLS]', '[ARGS]'] },
  { name: 'mistral', markers: ['[TOOL_CALLS]'] },
  { name: 'command-r7b', markers: ['<|START_ACTION|>'] },
  { name: 'command-r', markers: ['Action:', 'directly-answer'] },
  { name: 'apertus', markers: ['<|tools_prefix|>'] },
  { name: 'nemotron', markers: ['<TOOLCALL>'] },
  { name: 'hunyuan', markers: ['tool_sep', 'arg_key{}', ':opensource'] },
  { name: 'hunyuan', markers: ['<tool_calls:opensource>'] },
  { name: 'hunyuan-preview', markers: ['tool_sep', 'arg_key{}'] },
  { name: 'hunyuan-preview', markers: ['<tool_sep>', '<arg_key>'] },
  { name: 'inkling', markers: ['<|content_invoke_tool_json|>'] },
  { name: 'internlm', markers: ['<|action_start|>'] },
  { name: 'internlm', markers: ['<|plugin|>'] },
  { name: 'longcat-pairs', markers: ['<longcat_arg_key>'] },
  { name: 'longcat', markers: ['<longcat_tool_call>'] },
  { name: 'tool-calls-tag', markers: ['<tool_calls>'] },
  { name: 'olmo', markers: ['<function_calls>'] },
  { name: 'gigachat', markers: ['<|function_call|>'] },
  { name: 'gigachat-header', markers: ["'role': 'function call'"] },
  { name: 'functools', markers: ['functools'] },
  { name: 'functionary-v3.2', markers: ['>>>', 'recipient'] },
  { name: 'laguna', markers: ['<arg_key>', '<assistant>'] },
  { name: 'glm', markers: ['<arg_key>'] },
  { name: 'minicpm', markers: ['<function name='] },
  { name: 'functionary-v3.1', markers: ['<function=', '{end_tag}'] },
  { name: 'qwen3-coder', markers: ['<function='] },
  { name: 'hermes', markers: ['<tool_call>'] },
  { name: 'granite', markers: ['<|tool_call|>'] },
  { name: 'granite-20b', markers: ['<function_call>'] },
  { name: 'granite-20b', markers: ['<|function_call_library|>'] },
  { name: 'llama4', markers: ['<|python_start|>'] },
  { name: 'llama4', markers: ['<|header_start|>'] },
  { name: 'llama3', markers: ['<|python_tag|>'] },
  { name: 'llama3', markers: ['"parameters": dictionary'] },
  { name: 'pythonic', markers: ['[func_name1('] },
  { name: 'pythonic', markers: ['```tool_code'] },
  { name: 'glm4', markers: ['<|observation|>'] },
  { name: 'react', markers: ['Action Input:'] },
]

/** The name of the format that a chat template teaches; `json` if it teaches no known one. */
export function recogniseToolFormat(template: string): ToolFormatName {
  return recognitions.find(({ markers }) => markers.every((marker) => template.includes(marker)))?.name ?? 'json'
}
