import { LruMap } from '../../base/lru-map.ts'
import { anyFormat } from './any-format.ts'
import { deepseekDsml, glm, hunyuan, hunyuanPreview, laguna, minicpm, minimaxM2, qwen3Coder, seedOss } from './element-formats.ts'
import type { ToolFormatName } from './format-names.ts'
import { functionGemma, gemma4 } from './gemma.ts'
import { glimmer, harmony } from './harmony.ts'
import { deepseek, deepseekV31, functionaryV32, glm4, kimiK2, react, solar } from './headed-formats.ts'
import { inkling } from './inkling.ts'
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
  granite20b,
  hermes,
  internlm,
  llama3,
  llama4,
  nemotron,
  toolCallsTag,
} from './json-formats.ts'
import { kimiK3 } from './kimi-k3.ts'
import { longcat, longcatPairs } from './longcat.ts'
import { type CallMarks, markedFormat } from './marked-format.ts'
import { minimaxM3 } from './minimax-m3.ts'
import { mistral, mistralNamed } from './mistral.ts'
import { lfm2, olmo, pythonic } from './python-formats.ts'
import { step3 } from './step3.ts'
import type { ToolFormat } from './tool-format.ts'

const byName: Readonly<Record<ToolFormatName, ToolFormat>> = {
  glimmer,
  harmony,
  'seed-oss': seedOss,
  'minimax-m3': minimaxM3,
  'minimax-m2': minimaxM2,
  'deepseek-dsml': deepseekDsml,
  step3,
  deepseek,
  'deepseek-v3.1': deepseekV31,
  'kimi-k2': kimiK2,
  'kimi-k3': kimiK3,
  solar,
  gemma4,
  'function-gemma': functionGemma,
  lfm2,
  'mistral-named': mistralNamed,
  mistral,
  'command-r7b': commandR7b,
  'command-r': commandR,
  apertus,
  nemotron,
  hunyuan,
  'hunyuan-preview': hunyuanPreview,
  inkling,
  internlm,
  'longcat-pairs': longcatPairs,
  longcat,
  'tool-calls-tag': toolCallsTag,
  olmo,
  gigachat,
  'gigachat-header': gigachatHeader,
  functools,
  'functionary-v3.2': functionaryV32,
  laguna,
  glm,
  minicpm,
  'functionary-v3.1': functionaryV31,
  'qwen3-coder': qwen3Coder,
  hermes,
  granite,
  'granite-20b': granite20b,
  llama4,
  llama3,
  pythonic,
  glm4,
  react,
  json: genericJson,
  xml: qwen3Coder,
}

const formats: ReadonlyMap<string, ToolFormat> = new Map([...Object.entries(byName), ['any', anyFormat]])

/** The format of this name; undefined for an unknown one. `any` is a name here, but cannot be configured. */
export function findToolFormat(name: string): ToolFormat | undefined {
  if (!name.startsWith(markedPrefix)) return formats.get(name)
  const { base, ...marks }: MarkedName = JSON.parse(name.slice(markedPrefix.length))
  return marked.find(name, () => markedFormat(byName[base], marks, base === 'json'))
}

const markedPrefix = 'marked:'
const marked = new LruMap<string, ToolFormat>({ max: 16 })

type MarkedName = CallMarks & { readonly base: ToolFormatName }

/** The name of a format whose calls are between tags that the model's template names. */
export function markedFormatName(base: ToolFormatName, { start, end }: CallMarks): string {
  const name: MarkedName = { base, start, ...(end !== undefined && { end }) }
  return markedPrefix + JSON.stringify(name)
}

/** Texts of special tokens that must be let through into the raw text for this format to be read. */
export function visibleTokens(name: string): readonly string[] {
  return findToolFormat(name)?.visibleTokens ?? []
}
