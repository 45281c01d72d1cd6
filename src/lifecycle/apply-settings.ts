import { given } from '../base/json.ts'
import type { ConfiguredModel } from '../config/models.ts'
import type { LlamaModelConfig, LlamaServerModelConfig } from '../config/schema.ts'
import { refuseWithAdapters } from '../config/sections/reserved-arguments.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import { type LoadSettings, type Speculation, speculations } from '../contract/server/lifecycle.ts'
import { type Source, sourceFileName } from '../registry/names/sources.ts'

type SettingFiles = {
  readonly chatTemplate?: string
  readonly draft?: readonly Source[]
  readonly adapters?: LlamaModelConfig['adapters']
}

type Setting = keyof LoadSettings

/** As in the configuration's defaults. */
const ngramTokens = 8
const headDrafts = { type: 'mtp', maxTokens: 3, minProbability: 0 } as const

const forLlama: readonly Setting[] = [
  'contextLength',
  'slots',
  'batchSize',
  'gpuLayers',
  'flashAttention',
  'cacheTypeK',
  'cacheTypeV',
  'chatTemplate',
  'adapters',
  'draftModel',
  'speculation',
  'vision',
]
/** The settings that each kind of engine accepts for a load. */
const settable: Readonly<Record<ConfiguredModel['engine'], readonly Setting[]>> = {
  llama: forLlama,
  'llama-server': forLlama.filter((name) => name !== 'batchSize'),
  remote: ['vision'],
  fake: ['contextLength', 'slots', 'chatTemplate', 'vision'],
}

/** The configuration of a model with the settings of a load. Throws `unsupported-field` for a setting that its engine lacks. */
export function applySettings(config: ConfiguredModel, settings: LoadSettings, files: SettingFiles): ConfiguredModel {
  for (const name of Object.keys(settings) as Setting[]) refuseUnknown(config, name, settings)
  const { chatTemplate: _, adapters: __, draftModel, speculation, vision, ...plain } = settings
  const changed = {
    ...withVision(config, vision),
    ...plain,
    ...given({ chatTemplate: files.chatTemplate, adapters: files.adapters }),
  } as ConfiguredModel
  refuseQuantizedValues(changed)
  refuseArguments(changed)
  if (changed.engine !== 'llama' && changed.engine !== 'llama-server') return changed
  const { draft, ...withoutDraft } = changed
  if (speculation !== undefined) return withSpeculation(withoutDraft, speculation)
  const source = draftModel === undefined ? undefined : files.draft
  if (source === undefined) return changed
  // A llama-server may use another kind of speculation with its draft model (`args`).
  const { speculation: _own, ...base } = withoutDraft
  return { ...base, draft: { ...draft, source: [...source] } }
}

function withVision(config: ConfiguredModel, vision: boolean | undefined): ConfiguredModel {
  if (config.engine === 'llama' || config.engine === 'llama-server') {
    return vision === false ? { ...config, mmproj: 'none' } : config
  }
  if (vision !== true) return config
  const message = `${field('settings', 'vision')} cannot be true for model '${config.id}': its engine '${config.engine}' loads no projector`
  throw new AppError('unsupported-field', message, { at: ['settings', 'vision'] })
}

export function settingsOf(config: ConfiguredModel): LoadSettings {
  if (config.engine !== 'llama' && config.engine !== 'llama-server') return {}
  const { contextLength, slots, gpuLayers, flashAttention, cacheTypeK, cacheTypeV, draft } = config
  const [drafting] = draft?.source ?? []
  const speculation = speculationOf(config)
  return {
    slots,
    ...given({ contextLength, gpuLayers, cacheTypeK, cacheTypeV, speculation }),
    ...(flashAttention !== 'auto' && { flashAttention }),
    ...(drafting !== undefined && { draftModel: nameOf(drafting) }),
    ...(config.engine === 'llama' && config.batchSize !== undefined && { batchSize: config.batchSize }),
    ...(config.adapters !== undefined && { adapters: config.adapters.map(({ name, scale }) => ({ name, scale })) }),
  }
}

/** Without its folder: settings are shown to those who may use the model. */
function nameOf(source: Source): string {
  return source.type === 'hf-repository' ? `${source.owner}/${source.repo}` : sourceFileName(source)
}

type WithoutDraft = Omit<LlamaModelConfig, 'draft'> | Omit<LlamaServerModelConfig, 'draft'>

function withSpeculation(config: WithoutDraft, speculation: Speculation): ConfiguredModel {
  const without = withoutSpeculation(config)
  if (speculation === 'off') return without
  const own = config.speculation
  if (speculation === 'draft-mtp') return { ...without, speculation: own?.type === 'mtp' ? own : headDrafts }
  if (without.engine === 'llama-server') return { ...without, args: [...without.args, '--spec-type', speculation] }
  // The embedded engine can draft from the text so far in only one way.
  return { ...without, speculation: own?.type === 'ngram' ? own : { type: 'ngram', maxTokens: ngramTokens } }
}

function withoutSpeculation(config: WithoutDraft): WithoutDraft {
  const { speculation: _, ...others } = config
  if (others.engine === 'llama') return others
  const index = others.args.indexOf('--spec-type')
  return index === -1 ? others : { ...others, args: others.args.toSpliced(index, 2) }
}

function refuseUnknown(config: ConfiguredModel, name: Setting, settings: LoadSettings): void {
  if (settings[name] === undefined || settable[config.engine].includes(name)) return
  const engines = Object.entries(settable).flatMap(([engine, names]) => (names.includes(name) ? [engine] : []))
  const message = `${field('settings', name)} cannot be set for model '${config.id}' on the engine '${config.engine}': leave it out, or serve the model with ${engines.join(' or ')}`
  throw new AppError('unsupported-field', message, { at: ['settings', name] })
}

function refuseQuantizedValues(config: ConfiguredModel): void {
  if (config.engine !== 'llama' && config.engine !== 'llama-server') return
  const { cacheTypeV = 'f16', flashAttention } = config
  if (flashAttention !== false || ['f32', 'f16', 'bf16'].includes(cacheTypeV)) return
  const message = `${field('settings', 'cacheTypeV')} ${cacheTypeV} needs flash attention, which model '${config.id}' does not use: send f16, bf16 or f32`
  throw new AppError('invalid-request', message, { at: ['settings', 'cacheTypeV'] })
}

/** The configuration refuses them for a model with adapters. */
function refuseArguments(config: ConfiguredModel): void {
  if (config.engine !== 'llama-server' || (config.adapters ?? []).length === 0) return
  const problem = config.args.map(refuseWithAdapters).find((message) => message !== undefined)
  if (problem === undefined) return
  const message = `${field('settings', 'adapters')} cannot be set for model '${config.id}' with its \`args\`: ${problem}`
  throw new AppError('invalid-request', message, { at: ['settings', 'adapters'] })
}

function speculationOf(config: LlamaModelConfig | LlamaServerModelConfig): LoadSettings['speculation'] {
  const { speculation } = config
  if (speculation !== undefined) return speculation.type === 'mtp' ? 'draft-mtp' : 'ngram-simple'
  if (config.engine === 'llama') return undefined
  const type = config.args[config.args.indexOf('--spec-type') + 1]
  return speculations.find((known) => known === type)
}
