import type { LlamaModelConfig, LlamaServerModelConfig, ModelConfig } from '../../../config/schema.ts'
import type { EngineFacts } from '../../../contract/engine.ts'
import type { EngineChoice } from '../../../engine/either/engine.ts'
import { listingWith } from '../../../lifecycle/fetch-files.ts'
import { projectorOf } from '../../../lifecycle/projector-of.ts'
import { locateModelFile } from '../../../registry/fetch/fetch-model.ts'
import { readProjector } from '../../../registry/gguf/read-projector.ts'

/** What reads media on this machine. */
export type Senses = {
  /** The library with which the embedded engine reads media, if it is here: it may come later. */
  findLibrary(): string | undefined
  /** A llama-server for models that the embedded engine cannot run, if one is here: it may come later. */
  findServer(): string | undefined
}

/** A model with files, and what reads media here. */
type Situation = {
  readonly config: Extract<ModelConfig, { engine: 'llama' | 'llama-server' }>
  readonly home: string
  readonly hasLibrary: boolean
  readonly llamaServer: string | undefined
  /** A llama-server may run it in the place of the embedded engine. */
  readonly mayMove: boolean
}

export type Asked = { readonly signal: AbortSignal; readonly env?: Readonly<Record<string, string | undefined>> }

/** Chooses the engine of a model by its projector. With `asked`, the model's repository is asked if its file is not here. */
export async function chooseEngine(
  { config, home, hasLibrary, llamaServer, mayMove }: Situation,
  asked?: Asked,
): Promise<EngineChoice> {
  const listFiles = asked && listingWith(asked)
  const sources = await projectorOf(config, { home, listFiles })
  if (sources === undefined) {
    const isKnown = listFiles !== undefined || (await locateModelFile(config.source, home)) !== undefined
    const mediaProblem = config.mmproj === 'none' ? 'its configuration has `mmproj: none`' : withoutProjector
    return { engine: 'first', ...(isKnown && { modalities: reading({}), mediaProblem }) }
  }
  const lacksLibrary = config.engine === 'llama' && !hasLibrary
  if (lacksLibrary && (llamaServer === undefined || !mayMove)) {
    const orServer = mayMove ? ', or `dragoman runtime get`, which fetches a llama-server for it' : ''
    return { engine: 'first', modalities: reading({}), mediaProblem: `${withoutLibrary}${orServer}` }
  }
  const runsOn = `${llamaServer}, since it has a multimodal projector, and the embedded engine lacks the library (\`npm run senses\`)`
  const file = await locateModelFile(sources, home)
  const facts = file && (await readProjector(file.path).catch(() => undefined))
  return {
    ...(lacksLibrary ? { engine: 'second', runsOn } : { engine: 'first' }),
    ...(facts !== undefined && { modalities: reading(facts) }),
  }
}

const withoutLibrary =
  'it has a multimodal projector, but nothing here reads media through it: run `npm run senses`, which builds the library for that'
const withoutProjector = 'it has no multimodal projector: put one beside its file, or set `mmproj` in its configuration'

function reading({ readsImages = false, readsAudio = false }): NonNullable<EngineFacts['modalities']> {
  return { image: readsImages, audio: readsAudio, video: false }
}

/**
 * A model of the embedded engine as a llama-server runs it; undefined if its configuration needs the embedded one, whose way of calling tools
 * a llama-server lacks.
 */
export function asLlamaServer(config: LlamaModelConfig): LlamaServerModelConfig | undefined {
  const {
    engine: _,
    toolStrategy,
    prefixCache,
    stopWithinMs: __,
    batchSize,
    rope,
    speculation,
    flashAttention,
    ...shared
  } = config
  if (toolStrategy !== 'grammar') return undefined
  const options = {
    '--batch-size': batchSize,
    // With adapters, a server keeps none.
    '--cache-ram': (shared.adapters ?? []).length > 0 ? undefined : cacheMib(prefixCache),
    '--spec-type': speculation && 'ngram-simple',
    '--rope-scaling': rope?.scaling,
    '--rope-scale': rope?.factor,
    '--rope-freq-base': rope?.base,
    '--yarn-orig-ctx': rope?.originalContext,
  }
  const args = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name, `${value}`]))
  return { ...shared, engine: 'llama-server', flashAttention: flashAttention && 'auto', args }
}

function cacheMib(prefixCache: LlamaModelConfig['prefixCache']): number | undefined {
  const memory = prefixCache === 'off' ? 'off' : prefixCache.memory
  return memory === 'off' ? 0 : memory && Math.ceil(memory / 2 ** 20)
}
