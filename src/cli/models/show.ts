import { printable, printableProse } from '../../app/log/printable.ts'
import { expectedContext, roomFor } from '../../app/models/memory/memory-sharing.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { LlamaModelConfig, LlamaServerModelConfig } from '../../config/schema.ts'
import { AppError } from '../../contract/errors.ts'
import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import { locateModelFile } from '../../registry/fetch/fetch-model.ts'
import { describeContext } from '../../registry/gguf/choose-context.ts'
import { describeGguf } from '../../registry/gguf/describe-gguf.ts'
import { memoryNeed } from '../../registry/gguf/memory-need.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { availableMemoryBytes, budgetBytes } from '../../registry/names/memory.ts'
import { formatSource } from '../../registry/names/sources.ts'
import type { ServerAddress } from '../servers/client.ts'
import { describeMedia } from './model-media.ts'
import { notHere } from './not-here.ts'
import { findServed, servedRows } from './served-model.ts'
import { findWanted, type LoadModels } from './wanted-model.ts'

type LocalModel = LlamaModelConfig | LlamaServerModelConfig

type ShowOptions = { readonly template: boolean; readonly server: ServerAddress; readonly loadConfig: LoadModels }

/**
 * Prints the facts in a model's file, and its needs on this machine; with `template`, only its chat template. For a model without a file
 * here, prints what the running server reports.
 */
export async function showModel(name: string, { template, server, loadConfig }: ShowOptions): Promise<void> {
  try {
    await showFile(name, template, loadConfig)
  } catch (error) {
    const served = template ? undefined : await findServed(server, name)
    if (served === undefined) throw error
    printRows(servedRows(served, server))
  }
}

async function showFile(name: string, template: boolean, loadConfig: LoadModels): Promise<void> {
  const { model, config } = await findWanted(name, loadConfig)
  if (model.engine !== 'llama' && model.engine !== 'llama-server') {
    throw new AppError('invalid-request', `model '${model.id}' has no file here: its engine is ${model.engine}`)
  }
  const file = await locateModelFile(model.source, config.home)
  if (file === undefined) throw notHere(model, name)
  const facts = await describeGguf(file.path)
  if (template) {
    if (facts.chatTemplate === undefined) throw new AppError('invalid-request', `${file.path} has no chat template`)
    console.log(printableProse(facts.chatTemplate))
    return
  }
  printRows([
    ['model', model.id],
    ['source', model.source.map(formatSource).join(', ')],
    ['file', file.path],
    ...factRows(facts),
    ['also reads', await mediaOf(model, config)],
    ...(await needRows(model, file.path, config)),
  ])
}

/** Undefined for a model without a projector. */
async function mediaOf(model: LocalModel, config: LoadedConfig): Promise<string | undefined> {
  const media = await describeMedia(model, config)
  if (media === undefined || media.reads.length > 0) return media?.reads.join(', ')
  return media.problem?.includes('npm run senses') === true ? `nothing: ${media.problem}` : undefined
}

function printRows(rows: readonly [string, string | undefined][]): void {
  const known = rows.filter((row): row is [string, string] => row[1] !== undefined)
  const width = Math.max(...known.map(([label]) => label.length))
  for (const [label, value] of known) console.log(`${label.padEnd(width)}  ${printable(value)}`)
}

function factRows(facts: Partial<ModelFileFacts>): [string, string | undefined][] {
  const { architecture, parameterCount, quantization, trainedContextLength, layerCount, license, chatTemplate } = facts
  const uses = [facts.onlyEmbeds ? 'embeddings' : 'chat', ...(facts.infills ? ['fills gaps in code'] : [])]
  return [
    ['architecture', architecture],
    ['parameters', parameterCount === undefined ? undefined : formatCount(parameterCount)],
    ['quantization', quantization],
    ['layers', layerCount === undefined ? undefined : String(layerCount)],
    ['trained for', trainedContextLength === undefined ? undefined : `${trainedContextLength} tokens`],
    ['license', license],
    ['for', uses.join(', ')],
    ['chat template', chatTemplate === undefined ? 'none' : `${chatTemplate.length} characters; --template prints it`],
  ]
}

/** Its needs as this configuration loads it. */
async function needRows(model: LocalModel, path: string, { memory }: LoadedConfig): Promise<[string, string | undefined][]> {
  const { slots, flashAttention } = model
  const budget = budgetBytes(memory.budget)
  const choice = await expectedContext(model, { modelPath: path }, roomFor(budget, 1)).catch(() => undefined)
  const contextLength = model.contextLength ?? choice?.contextLength
  if (contextLength === undefined) return []
  const { bytes } = await memoryNeed({
    modelPath: path,
    slots,
    flashAttention: flashAttention !== false,
    processBytes: 0,
    contextLength,
  })
  const fits = bytes <= budget ? '' : `, more than memory.budget, ${formatBytes(budget)}`
  return [
    ['context', model.contextLength === undefined && choice ? describeContext(choice) : `${contextLength} tokens, as configured`],
    ['memory', `about ${formatBytes(bytes)} with slots: ${slots}, of ${formatBytes(availableMemoryBytes())} here${fits}`],
  ]
}

function formatCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} billion`
  return `${(count / 1e6).toFixed(1)} million`
}
