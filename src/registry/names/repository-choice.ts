import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { fileProblem, type RepositorySource, type Source } from './sources.ts'

type FileSource = Extract<Source, { type: 'hf' }>

const recordSchema = z.object({ file: z.string().refine((file) => fileProblem(file) === undefined) })

/** The file that was fetched for a repository before: with it, the model needs no network, and stays the same one. */
export async function recallChoice(repository: RepositorySource, home: string): Promise<FileSource | undefined> {
  try {
    const { file } = recordSchema.parse(JSON.parse(await readFile(recordPath(repository, home), 'utf8')))
    return fileIn(repository, file)
  } catch {
    // Absent or damaged: the file is chosen again.
    return undefined
  }
}

export async function rememberChoice(repository: RepositorySource, file: string, home: string): Promise<void> {
  const path = recordPath(repository, home)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.${process.pid}`, JSON.stringify({ file }))
  await rename(`${path}.${process.pid}`, path)
}

/** The next fetch chooses again. */
export async function forgetChoice(repository: RepositorySource, home: string): Promise<void> {
  await rm(recordPath(repository, home), { force: true })
}

export function fileIn({ owner, repo, revision }: RepositorySource, file: string): FileSource {
  return { type: 'hf', owner, repo, revision, file }
}

function recordPath({ owner, repo, revision }: RepositorySource, home: string): string {
  return join(home, 'models', 'hf-choices', owner, repo, `${encodeURIComponent(revision)}.json`)
}
