import type { ModelConfig } from '../../config/schema.ts'
import type { Engine } from '../../contract/engine.ts'
import { EitherEngine, type EngineChoice } from '../../engine/either/engine.ts'
import { isUnknownModel } from '../../engine/llama/channel/unknown-model.ts'
import type { ModelWithFiles } from '../../lifecycle/fetch-files.ts'
import { locateModelFile } from '../../registry/fetch/fetch-model.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import { createLlama } from './create-llama-engine.ts'
import { createLlamaServer } from './create-llama-server-engine.ts'
import { llamaServerInUse } from './find-llama-server.ts'
import { type Asked, asLlamaServer, chooseEngine, type Senses } from './senses/senses.ts'

type FileEngineParts = Parameters<typeof createLlama>[1] &
  Omit<Parameters<typeof createLlamaServer>[1], 'findBinary'> & { readonly senses: Senses }

/** The engine of a model with files: the configured one, or a llama-server for what the embedded one cannot read or does not know. */
export function createFileEngine(config: ModelWithFiles, parts: FileEngineParts): Engine {
  const { id } = config
  const { log, senses, home } = parts
  const onServer = equivalentOf(config)
  const first =
    config.engine === 'llama'
      ? createLlama(config, parts)
      : createLlamaServer(config, { ...parts, findBinary: () => config.binary ?? llamaServerInUse(home) })
  const findBinary = () => senses.findServer() ?? 'llama-server'
  /** Why the embedded engine does not run the model, until its file changes. */
  let unknown: { readonly failure: string; readonly modifiedAtMs: number | undefined } | undefined
  const choose = async (signal: AbortSignal, failure?: string): Promise<EngineChoice> => {
    const choice = await choiceOf(config, parts, { signal })
    const server = onServer && senses.findServer()
    if (failure === undefined && unknown === undefined) return choice
    const modifiedAtMs = (await locateModelFile(config.source, home))?.modifiedAtMs
    if (failure !== undefined) unknown = { failure, modifiedAtMs }
    else if (unknown?.modifiedAtMs !== modifiedAtMs) unknown = undefined
    if (unknown === undefined || server === undefined) return choice
    return { engine: 'second', runsOn: `${server}, since the embedded engine cannot run it: ${unknown.failure.split(';', 1)[0]}` }
  }
  return new EitherEngine({
    id,
    first,
    createSecond: () => (onServer === undefined ? first : createLlamaServer(onServer, { ...parts, findBinary })),
    look: () => choiceOf(config, parts),
    isForSecond: (reason) => isUnknownModel(reason) && onServer !== undefined && senses.findServer() !== undefined,
    choose: async (signal, failure) => {
      const choice = await choose(signal, failure)
      if (choice.runsOn !== undefined) log.info({ model: id }, `it runs on ${choice.runsOn}`)
      return choice
    },
  })
}

/** Which engine will run a model here, and what it will read. */
export function choiceOf(config: ModelWithFiles, { home, senses }: Pick<FileEngineParts, 'home' | 'senses'>, asked?: Asked) {
  const hasLibrary = senses.findLibrary() !== undefined
  const llamaServer = senses.findServer()
  return chooseEngine({ config, home, hasLibrary, llamaServer, mayMove: equivalentOf(config) !== undefined }, asked)
}

/** The built-in model is for first steps and tests of the embedded engine: it stays there. */
function equivalentOf(config: ModelConfig) {
  if (config.engine !== 'llama') return undefined
  const isBuiltIn = config.source.some((source) => source.type === 'path' && source.path === builtinModel.path)
  return isBuiltIn ? undefined : asLlamaServer(config)
}
