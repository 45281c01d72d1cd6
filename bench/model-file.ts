import { homedir } from 'node:os'
import { join } from 'node:path'
import { ensureModelFile } from '../src/registry/fetch/fetch-model.ts'
import { defaultModel } from '../src/registry/names/builtin-model.ts'
import { parseSource } from '../src/registry/names/sources.ts'

/** The path of a model's file, which is fetched if necessary: of a source such as a path or `hf:…`, or the default model's. */
export function modelFile(source: string | undefined): Promise<string> {
  const home = process.env.DRAGOMAN_HOME ?? join(homedir(), '.cache', 'dragoman')
  const { sources, sha256 } = source === undefined ? defaultModel : { sources: [source], sha256: undefined }
  return ensureModelFile(sources.map(parseSource), { home, sha256, onNote: (note) => console.error(note) })
}
