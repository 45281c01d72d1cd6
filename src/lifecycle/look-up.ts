import type { ConfiguredModel } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { FoundModel, OfferedFile } from '../contract/server/lifecycle.ts'
import { chooseFile, variantsOf } from '../registry/fetch/choose-file.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { reachFile } from '../registry/fetch/reach-file.ts'
import { availableMemoryBytes, fitsMemory } from '../registry/names/memory.ts'
import type { RepositorySource, Source } from '../registry/names/sources.ts'
import { hasFiles } from './fetch-files.ts'
import { environment, listFiles } from './list-files.ts'
import { type DescribeMedia, describeConfig, type Managed } from './model-report.ts'

type LookUpOptions = {
  readonly models: { all(): readonly Managed[] }
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Gives access to the repository; absent: the token of the environment. */
  readonly token: string | undefined
  readonly signal: AbortSignal
  readonly describeMedia: DescribeMedia
}

/**
 * The facts of a model whose file is present or reachable; nothing is fetched. Rejects with `model-not-found` for a file missing from its
 * repository, and with `model-unavailable` for an answer that is not a file, or no answer.
 */
export async function lookUp(
  config: ConfiguredModel,
  { models, env = process.env, token, signal, describeMedia }: LookUpOptions,
): Promise<FoundModel> {
  const there = models.all().find(({ id }) => id === config.id)?.engine
  const isLoaded = there?.state.type === 'ready'
  if (!hasFiles(config) || isLoaded) return { ...describeConfig(config), readsImages: there?.facts.modalities?.image === true }
  let failure: unknown
  for (const source of config.source) {
    try {
      const offers = await look(source, { signal, listFiles: (repository) => listFiles(repository, { env, token, signal }) })
      const { modalities, mediaProblem } = await describeMedia(config, { env: environment(env, token), signal })
      const readsImages = modalities?.image ?? mediaProblem === undefined
      return { ...describeConfig(config), readsImages, ...(offers !== undefined && { offers }) }
    } catch (error) {
      signal.throwIfAborted()
      failure = error
    }
  }
  throw failure
}

type Looking = {
  readonly signal: AbortSignal
  listFiles(repository: RepositorySource): Promise<readonly RepositoryFile[]>
}

/** Resolves with the files of a repository. */
async function look(source: Source, { signal, listFiles }: Looking): Promise<readonly OfferedFile[] | undefined> {
  switch (source.type) {
    // Only its installer can unpack a wheel. A path was checked when it was found.
    case 'path':
    case 'wheel':
      return undefined
    case 'hf-repository': {
      const files = await listFiles(source)
      return offeredFiles(files, chooseFile(files, availableMemoryBytes()).file)
    }
    case 'hf': {
      const { file, ...rest } = source
      const files = await listFiles({ ...rest, type: 'hf-repository' })
      if (!files.some(({ path }) => path === file)) {
        const message = `${field('name')}: the repository ${source.owner}/${source.repo} has no file ${file}`
        throw new AppError('model-not-found', message, { at: ['name'] })
      }
      return offeredFiles(files, file)
    }
    case 'url':
      await reachFile(source.url, signal)
      return undefined
  }
}

function offeredFiles(files: readonly RepositoryFile[], proposed: string): readonly OfferedFile[] {
  const memoryBytes = availableMemoryBytes()
  return variantsOf(files).map(({ label, file: { path, sizeBytes } }) => ({
    quantization: label,
    sizeBytes,
    fits: fitsMemory(sizeBytes, memoryBytes),
    isProposed: path === proposed,
  }))
}
