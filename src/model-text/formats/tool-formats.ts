import { anyFormat } from './any-format.ts'
import { deepseekDsml, glm, hunyuan, minicpm, minimaxM2, qwen3Coder, seedOss } from './element-formats.ts'
import { functionGemma, gemma4 } from './gemma.ts'
import { glimmer, harmony } from './harmony.ts'
import { deepseek, deepseekV31, functionaryV32, glm4, kimiK2, mistral, mistralNamed, react, solar } from './headed-formats.ts'
import {
  apertus,
  commandR,
  commandR7b,
  functionaryV31,
  functools,
  genericJson,
  gigachat,
  gigachatHeader,
  granite,
  hermes,
  llama3,
  llama4,
  nemotron,
  toolCallsTag,
} from './json-formats.ts'
import { kimiK3 } from './kimi-k3.ts'
import { minimaxM3 } from './minimax-m3.ts'
import { lfm2, olmo, pythonic } from './python-formats.ts'
import type { ToolFormat } from './tool-format.ts'

type Entry = {
  readonly format: ToolFormat
  /** What all stands in the chat templates of this family, and in no one's before it in the table. */
  readonly markers: readonly string[]
}

/** Every format, the more particular before the more general: the first whose markers are all in a template is its. */
const table: readonly Entry[] = [
  { format: glimmer, markers: ['<atem:'] },
  { format: harmony, markers: ['<|channel|>', '<|message|>'] },
  { format: seedOss, markers: ['<seed:tool_call>'] },
  { format: minimaxM3, markers: [']<]minimax[>['] },
  { format: minimaxM2, markers: ['<minimax:tool_call>'] },
  { format: deepseekDsml, markers: ['｜DSML｜'] },
  { format: deepseek, markers: ['<｜tool▁sep｜>', '```json'] },
  { format: deepseekV31, markers: ['<｜tool▁sep｜>'] },
  { format: deepseek, markers: ['<｜tool▁calls▁begin｜>'] },
  { format: deepseek, markers: ['<｜tool▁outputs▁begin｜>'] },
  { format: kimiK2, markers: ['<|tool_call_argument_begin|>'] },
  { format: kimiK3, markers: ['<|open|>', '<|sep|>'] },
  { format: solar, markers: ['<|tool_call:begin|>'] },
  { format: gemma4, markers: ['<|tool_call>'] },
  { format: functionGemma, markers: ['<start_function_call>'] },
  { format: lfm2, markers: ['<|tool_call_start|>'] },
  { format: lfm2, markers: ['<|tool_list_start|>'] },
  { format: lfm2, markers: ['List of tools: ['] },
  { format: mistralNamed, markers: ['[TOOL_CALLS]', '[ARGS]'] },
  { format: mistral, markers: ['[TOOL_CALLS]'] },
  { format: commandR7b, markers: ['<|START_ACTION|>'] },
  { format: commandR, markers: ['Action:', 'directly-answer'] },
  { format: apertus, markers: ['<|tools_prefix|>'] },
  { format: nemotron, markers: ['<TOOLCALL>'] },
  { format: hunyuan, markers: ['tool_sep', 'arg_key{}'] },
  { format: hunyuan, markers: ['<tool_calls:opensource>'] },
  { format: toolCallsTag, markers: ['<tool_calls>'] },
  { format: olmo, markers: ['<function_calls>'] },
  { format: gigachat, markers: ['<|function_call|>'] },
  { format: gigachatHeader, markers: ["'role': 'function call'"] },
  { format: functools, markers: ['functools'] },
  { format: functionaryV32, markers: ['>>>', 'recipient'] },
  { format: glm, markers: ['<arg_key>'] },
  { format: minicpm, markers: ['<function name='] },
  { format: functionaryV31, markers: ['<function=', '{end_tag}'] },
  { format: qwen3Coder, markers: ['<function='] },
  { format: hermes, markers: ['<tool_call>'] },
  { format: granite, markers: ['<|tool_call|>'] },
  { format: llama4, markers: ['<|python_start|>'] },
  { format: llama4, markers: ['<|header_start|>'] },
  { format: llama3, markers: ['<|python_tag|>'] },
  { format: llama3, markers: ['"parameters": dictionary'] },
  { format: pythonic, markers: ['[func_name1('] },
  { format: pythonic, markers: ['```tool_code'] },
  { format: glm4, markers: ['<|observation|>'] },
  { format: react, markers: ['Action Input:'] },
]

const formats: readonly ToolFormat[] = [...table.map(({ format }) => format), genericJson]
const byName: ReadonlyMap<string, ToolFormat> = new Map([
  ...formats.map((format): [string, ToolFormat] => [format.name, format]),
  ['xml', qwen3Coder],
])

/** What a configuration may name as a model's tool format. `auto` is not among them: it means to recognise it. */
export const toolFormatNames: readonly string[] = [...byName.keys()]

/** The format of this name; undefined when there is none. */
export function toolFormat(name: string): ToolFormat | undefined {
  return name === anyFormat.name ? anyFormat : byName.get(name)
}

/** The name of the format that a chat template teaches; `json` where it teaches none that we know. */
export function recogniseToolFormat(template: string): string {
  const entry = table.find(({ markers }) => markers.every((marker) => template.includes(marker)))
  return entry?.format.name ?? genericJson.name
}

/** Texts of special tokens that have to be let through into the raw text for this format to be read. */
export function visibleTokens(name: string): readonly string[] {
  return toolFormat(name)?.visibleTokens ?? []
}
