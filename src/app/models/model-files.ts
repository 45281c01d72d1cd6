import type { ConfiguredModel } from '../../config/models.ts'
import type { ModelFileFacts, ModelFiles } from '../../contract/server/model-file.ts'
import { hasFiles, type ModelWithFiles } from '../../lifecycle/fetch-files.ts'
import { quantizationOf } from '../../registry/fetch/choose-file.ts'
import { locateModelFile } from '../../registry/fetch/fetch-model.ts'
import type { ContextRoom } from '../../registry/gguf/choose-context.ts'
import { describeGguf } from '../../registry/gguf/describe-gguf.ts'
import { weightsOf } from '../../registry/gguf/memory-need.ts'
import { expectedContext, type MemorySharing } from './memory-sharing.ts'

type Parts = {
  readonly models: { all(): readonly { readonly id: string; readonly config: ConfiguredModel | undefined }[] }
  readonly home: string
  readonly sharing: Pick<MemorySharing, 'room'>
}

/** Reads what the files of models say; each is read again only when it, or the configuration of its model, has changed. */
export function createModelFiles({ models, home, sharing }: Parts): ModelFiles {
  const known = new Map<string, { readonly key: string; readonly facts: Promise<ModelFileFacts | undefined> }>()
  return {
    async describe(id) {
      const config = models.all().find((model) => model.id === id)?.config
      if (config === undefined || !hasFiles(config)) return undefined
      const file = await locateModelFile(config.source, home)
      if (file === undefined) return undefined
      const room = sharing.room()
      const key = JSON.stringify([file, config, room])
      const before = known.get(id)
      if (before?.key === key) return before.facts
      const facts = describeFile(config, file, room)
      known.set(id, { key, facts })
      return facts
    },
  }
}

type Located = NonNullable<Awaited<ReturnType<typeof locateModelFile>>>

/** Undefined for a file that has gone meanwhile. */
async function describeFile(
  config: ModelWithFiles,
  { path, modifiedAtMs, sha256 }: Located,
  room: ContextRoom,
): Promise<ModelFileFacts | undefined> {
  try {
    const quantization = quantizationOf(path)
    const checksum = config.sha256 ?? sha256
    const described = await describeGguf(path)
    const contextLength = config.contextLength ?? (await expectedContext(config, path, room))?.contextLength
    return {
      ...described,
      ...(contextLength !== undefined && { contextLength }),
      sizeBytes: await weightsOf(path),
      modifiedAtMs,
      ...(quantization !== undefined && { quantization }),
      ...(checksum !== undefined && { sha256: checksum }),
    }
  } catch {
    return undefined
  }
}
