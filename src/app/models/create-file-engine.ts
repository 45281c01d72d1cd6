import type { ModelConfig } from '../../config/schema.ts'
import type { Engine } from '../../contract/engine.ts'
import { EitherEngine } from '../../engine/either/engine.ts'
import type { ModelWithFiles } from '../../lifecycle/fetch-files.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import { createLlama } from './create-llama-engine.ts'
import { createLlamaServer } from './create-llama-server-engine.ts'
import { type Asked, asLlamaServer, chooseEngine, type Senses } from './senses/senses.ts'

type FileEngineParts = Parameters<typeof createLlama>[1] & Parameters<typeof createLlamaServer>[1] & { readonly senses: Senses }

/** The engine of a model with files: the configured one, or a llama-server for media that the embedded one cannot read here. */
export function createFileEngine(config: ModelWithFiles, parts: FileEngineParts): Engine {
  const { id } = config
  const { log, senses } = parts
  const onServer = equivalentOf(config, senses.llamaServer)
  const first = config.engine === 'llama' ? createLlama(config, parts) : createLlamaServer(config, parts)
  return new EitherEngine({
    id,
    first,
    createSecond: () => (onServer === undefined ? first : createLlamaServer(onServer, parts)),
    look: () => choiceOf(config, parts),
    choose: async (signal) => {
      const choice = await choiceOf(config, parts, { signal })
      const why = `it has a multimodal projector: ${senses.llamaServer} runs it, since the embedded engine lacks the library (\`npm run senses\`)`
      if (choice.engine === 'second') log.info({ model: id }, why)
      return choice
    },
  })
}

/** Which engine will run a model here, and what it will read. */
export function choiceOf(config: ModelWithFiles, { home, senses }: Pick<FileEngineParts, 'home' | 'senses'>, asked?: Asked) {
  const [hasLibrary, hasServer] = [senses.findLibrary() !== undefined, senses.llamaServer !== undefined]
  return chooseEngine({ config, home, hasLibrary, hasServer, mayMove: equivalentOf(config, '') !== undefined }, asked)
}

/** The built-in model is for first steps and tests of the embedded engine: it stays there. */
function equivalentOf(config: ModelConfig, llamaServer: string | undefined) {
  if (config.engine !== 'llama' || llamaServer === undefined) return undefined
  const isBuiltIn = config.source.some((source) => source.type === 'path' && source.path === builtinModel.path)
  return isBuiltIn ? undefined : asLlamaServer(config, llamaServer)
}
