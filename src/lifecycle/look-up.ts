import type { ConfiguredModel } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { FoundModel } from '../contract/server/lifecycle.ts'
import { chooseFile } from '../registry/fetch/choose-file.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { reachFile } from '../registry/fetch/reach-file.ts'
import { availableMemoryBytes } from '../registry/names/memory.ts'
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
      await look(source, { signal, listFiles: (repository) => listFiles(repository, { env, token, signal }) })
      const { modalities, mediaProblem } = await describeMedia(config, { env: environment(env, token), signal })
      return { ...describeConfig(config), readsImages: modalities?.image ?? mediaProblem === undefined }
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

async function look(source: Source, { signal, listFiles }: Looking): Promise<void> {
  switch (source.type) {
    // Only its installer can unpack a wheel. A path was checked when it was found.
    case 'path':
    case 'wheel':
      return
    case 'hf-repository':
      chooseFile(await listFiles(source), availableMemoryBytes())
      return
    case 'hf': {
      const { file, ...rest } = source
      const files = await listFiles({ ...rest, type: 'hf-repository' })
      if (!files.some(({ path }) => path === file)) {
        const message = `${field('name')}: the repository ${source.owner}/${source.repo} has no file ${file}`
        throw new AppError('model-not-found', message, { at: ['name'] })
      }
      return
    }
    case 'url':
      return reachFile(source.url, signal)
  }
}
