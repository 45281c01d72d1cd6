import { given } from '../../base/json.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { AppError } from '../../contract/errors.ts'
import type { LoadEstimate, ModelFileFacts, ModelFiles } from '../../contract/server/model-file.ts'
import { type ModelFiles as Files, hasFiles, locateFiles, type ModelWithFiles, sizeOf } from '../../lifecycle/fetch-files.ts'
import { withHeaders } from '../../lifecycle/files-ahead.ts'
import { findModel } from '../../lifecycle/find-model.ts'
import { listFiles } from '../../lifecycle/list-files.ts'
import { quantizationOf } from '../../registry/fetch/choose-file.ts'
import { locateModelFile } from '../../registry/fetch/fetch-model.ts'
import { isFetched } from '../../registry/fetch/stored-models.ts'
import { type ContextRoom, longestOf } from '../../registry/gguf/choose-context.ts'
import { describeGguf } from '../../registry/gguf/describe-gguf.ts'
import { weightsOf } from '../../registry/gguf/memory-need.ts'
import { formatSource, type RepositorySource } from '../../registry/names/sources.ts'
import { expectedContext, expectedNeed, type MemorySharing } from './memory/memory-sharing.ts'
import { gpuPart } from './memory/placement.ts'

type Parts = {
  readonly models: { all(): readonly { readonly id: string; readonly config: ConfiguredModel | undefined }[] }
  readonly home: string
  readonly sharing: Pick<MemorySharing, 'room'>
  /** Has `HF_ENDPOINT` and `HF_TOKEN`; absent: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Reads what the files of models say; each is read again only when it, or the configuration of its model, has changed. */
export function createModelFiles({ models, home, sharing, env = process.env }: Parts): ModelFiles {
  const known = new Map<string, { readonly key: string; readonly facts: Promise<ModelFileFacts | undefined> }>()
  const locate = async (id: string) => {
    const config = models.all().find((model) => model.id === id)?.config
    if (config === undefined || !hasFiles(config)) return undefined
    const file = await locateModelFile(config.source, home)
    return file && { config, file }
  }
  return {
    async plan(id, load) {
      const found = await locate(id)
      if (found === undefined) return undefined
      const { config, file } = found
      const files = await locateFiles(config, file.path, home)
      const plan = await planLoad({ ...config, ...load }, files, sharing.room())
      return { ...plan, path: file.path, isFetched: isFetched(file.path, home) }
    },
    async estimate(wanted, signal) {
      const named = models.all().flatMap(({ config }) => config ?? [])
      const listing = (repository: RepositorySource) => listFiles(repository, { env, token: undefined, signal })
      const config = await findModel(wanted, { named, listFiles: listing })
      if (!hasFiles(config)) throw new AppError('not-found', `model '${config.id}' takes no memory of this machine`)
      const here = await locateModelFile(config.source, home)
      if (here !== undefined) return planLoad(config, await locateFiles(config, here.path, home), sharing.room())
      return withHeaders(config, { home, env, signal, listFiles: listing }, (files) => planLoad(config, files, sharing.room()))
    },
    async describe(id) {
      const found = await locate(id)
      if (found === undefined) return undefined
      const { config, file } = found
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

async function planLoad(config: ModelWithFiles, files: Files, room: ContextRoom): Promise<LoadEstimate> {
  const { source, slots, gpuLayers } = config
  const { modelPath } = files
  const { budgetBytes } = room
  const file = {
    source: source.map(formatSource).join(', or '),
    sizeBytes: await sizeOf(files),
    slots,
    budgetBytes,
  }
  const contextLength = config.contextLength ?? (await expectedContext(config, files, room))?.contextLength
  if (contextLength === undefined) return { ...file, longest: [] }
  const need = await expectedNeed(config, files, contextLength)
  const trained = need.longestContext(Number.POSITIVE_INFINITY)
  const onGpu = await gpuPart({ ...config, modelPath, contextLength, flashAttention: config.flashAttention !== false })
  return {
    ...file,
    contextLength,
    bytes: need.bytes,
    longest: longestOf(slots, (count) => need.longestContext(budgetBytes, count)),
    ...(trained !== undefined && { trainedContextLength: trained }),
    ...(onGpu !== undefined && { layerCount: onGpu.layerCount }),
    ...(typeof gpuLayers === 'number' && onGpu !== undefined && { gpuBytes: onGpu.bytesOf(gpuLayers) }),
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
    const contextLength = config.contextLength ?? (await expectedContext(config, { modelPath: path }, room))?.contextLength
    return {
      ...described,
      ...given({ contextLength, quantization, sha256: checksum }),
      sizeBytes: await weightsOf(path),
      modifiedAtMs,
    }
  } catch {
    return undefined
  }
}
