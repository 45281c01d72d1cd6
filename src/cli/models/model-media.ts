import { choiceOf } from '../../app/models/create-file-engine.ts'
import { findLlamaServer } from '../../app/models/find-llama-server.ts'
import { findSenses } from '../../app/models/senses/library.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ModelWithFiles } from '../../lifecycle/fetch-files.ts'

/** What reads media on this machine, for models of this configuration. */
export function sensesHere({ models, home }: Pick<LoadedConfig, 'models' | 'home'>) {
  return { findLibrary: findSenses, findServer: () => findLlamaServer(models, { home }) }
}

/** Describes the media that a model reads here, in words, and why not more; undefined if its files do not show it yet. */
export async function describeMedia(
  model: ModelWithFiles,
  config: Pick<LoadedConfig, 'models' | 'home'>,
): Promise<{ readonly reads: readonly string[]; readonly problem?: string } | undefined> {
  const { engine, modalities, mediaProblem } = await choiceOf(model, { home: config.home, senses: sensesHere(config) })
  if (modalities === undefined) return undefined
  const reads = [...(modalities.image ? ['images'] : []), ...(modalities.audio ? ['sounds'] : [])]
  return {
    reads: reads.map((kind) => (engine === 'second' ? `${kind} (on llama-server)` : kind)),
    ...(mediaProblem !== undefined && { problem: mediaProblem }),
  }
}
