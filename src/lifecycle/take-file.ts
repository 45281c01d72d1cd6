import type { ConfiguredModel } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { FileFilter } from '../contract/server/lifecycle.ts'
import { chooseFile } from '../registry/fetch/choose-file.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { availableMemoryBytes } from '../registry/names/memory.ts'
import type { RepositorySource } from '../registry/names/sources.ts'
import { hasFiles } from './fetch-files.ts'

/** The model of a repository with one of the files that the filter admits: the best that fits the memory. Rejects at `files`. */
export async function takeFile(
  config: ConfiguredModel,
  filter: FileFilter,
  list: (repository: RepositorySource) => Promise<readonly RepositoryFile[]>,
): Promise<ConfiguredModel> {
  const [source] = hasFiles(config) ? config.source : []
  if (!hasFiles(config) || source?.type !== 'hf-repository') {
    throw new AppError('invalid-request', `${field('files')} choose among the files of a repository: name one`, { at: ['files'] })
  }
  const all = await list(source)
  const fitting = all.filter(({ path }) => isTaken(path, filter))
  if (!fitting.some(({ path }) => /\.gguf$/i.test(path))) {
    const names = all.flatMap(({ path }) => (/\.gguf$/i.test(path) ? [path] : []))
    const there = names.length === 0 ? 'it has no .gguf file' : `its .gguf files are: ${names.slice(0, 40).join(', ')}`
    throw new AppError('invalid-request', `${field('files')} let no .gguf file of the repository through; ${there}`, {
      at: ['files'],
    })
  }
  const { file } = chooseFile(fitting, availableMemoryBytes())
  return { ...config, source: [{ ...source, type: 'hf', file }] }
}

function isTaken(path: string, { include, exclude }: FileFilter): boolean {
  const isMatched = (pattern: string) => matches(path, pattern)
  return include.some(isMatched) && !exclude.some(isMatched)
}

/** Whether a pattern matches a whole text; `*`: any characters, `?`: one. Takes time text × pattern, unlike a regular expression. */
function matches(text: string, pattern: string): boolean {
  let [at, next] = [0, 0]
  /** The last `*`, and where to continue in the text if it takes one character more. */
  let star: { readonly next: number; at: number } | undefined
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = { next: next + 1, at }
      next += 1
    } else if (pattern[next] === '?' || pattern[next] === text[at]) {
      at += 1
      next += 1
    } else if (star !== undefined) {
      star.at += 1
      at = star.at
      next = star.next
    } else return false
  }
  return [...pattern.slice(next)].every((character) => character === '*')
}
