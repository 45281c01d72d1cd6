import { listRepository, type RepositoryFile } from '../registry/fetch/hugging-face.ts'

const timeoutMs = 10_000

type ListOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Gives access to the repository; absent: the token of the environment. */
  readonly token: string | undefined
  readonly signal: AbortSignal
}

/** The files of a repository. Rejects as `listRepository`. */
export function listFiles(
  repository: Parameters<typeof listRepository>[0],
  { env, token, signal }: ListOptions,
): Promise<readonly RepositoryFile[]> {
  return listRepository(repository, { env: environment(env, token), signal, responseTimeoutMs: timeoutMs })
}

/** An environment in which a repository is asked with this token, if there is one. */
export function environment(env: ListOptions['env'], token: string | undefined): ListOptions['env'] {
  return token === undefined ? env : { ...env, HF_TOKEN: token }
}
