import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../contract/errors.ts'
import { chooseFile } from '../registry/fetch/choose-file.ts'
import { fetchHeader } from '../registry/fetch/fetch-header.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { availableMemoryBytes } from '../registry/names/memory.ts'
import { fileIn } from '../registry/names/repository-choice.ts'
import type { RemoteFileSource, RepositorySource, Source } from '../registry/names/sources.ts'
import type { ModelFiles, ModelWithFiles } from './fetch-files.ts'
import { projectorOf } from './projector-of.ts'

type Asking = {
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  listFiles(repository: RepositorySource): Promise<readonly RepositoryFile[]>
}

/** Uses files with the headers and sizes of those that a load would fetch; they are gone afterwards. */
export async function withHeaders<T>(config: ModelWithFiles, asking: Asking, use: (files: ModelFiles) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-headers-'))
  try {
    const modelPath = join(folder, 'model.gguf')
    const taken = await fetchFirst(config.source, { ...asking, target: modelPath })
    const mmprojPath = join(folder, 'projector.gguf')
    const hasProjector = await placeProjector({ ...config, source: [taken] }, { ...asking, target: mmprojPath })
    return await use({ modelPath, ...(hasProjector && { mmprojPath }) })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Placing = Asking & { readonly target: string }

/** The source that a load would take: the first that answers. */
async function fetchFirst(sources: readonly Source[], placing: Placing): Promise<RemoteFileSource> {
  let failure: unknown
  for (const source of sources) {
    if (source.type === 'path') continue
    try {
      const one = source.type === 'hf-repository' ? await chosen(source, placing) : source
      await fetchHeader(one, placing)
      return one
    } catch (error) {
      placing.signal.throwIfAborted()
      failure ??= error
    }
  }
  throw failure ?? new AppError('not-found', 'the model has no file that could be fetched')
}

async function chosen(repository: RepositorySource, { listFiles }: Asking): Promise<RemoteFileSource> {
  return fileIn(repository, chooseFile(await listFiles(repository), availableMemoryBytes()).file)
}

/** Makes a file of the projector's size, which is all that counts. */
async function placeProjector(config: ModelWithFiles, { home, listFiles, target }: Placing): Promise<boolean> {
  const [source] = (await projectorOf(config, { home, listFiles })) ?? []
  if (source?.type !== 'hf') return false
  const { file, ...repository } = source
  const found = (await listFiles({ ...repository, type: 'hf-repository' })).find(({ path }) => path === file)
  if (found === undefined) return false
  await using made = await open(target, 'w')
  await made.truncate(found.sizeBytes)
  return true
}
