import { existsSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultModel } from '../../../src/registry/names/builtin-model.ts'
import { landingPath, parseSource } from '../../../src/registry/names/sources.ts'
import { writeRandomModel } from './random-gguf.ts'
import { writeRandomProjector } from './random-projector.ts'

/** Part of the file's name: raise it when what the writer writes changes. */
const randomModelVersion = 1

/** A random-weights model file, written by the suite itself when it is not there yet. */
export async function randomModel(): Promise<string> {
  const path = join(tmpdir(), 'dragoman-test-models', `random-v${randomModelVersion}.gguf`)
  if (!existsSync(path)) await writeRandomModel(path)
  return path
}

/** A projector with random weights for that model. */
export async function randomProjector(): Promise<string> {
  const path = join(tmpdir(), 'dragoman-test-models', `random-projector-v${randomModelVersion}.gguf`)
  if (!existsSync(path)) await writeRandomProjector(path)
  return path
}

/** The default model's file, if it was fetched before: tests contact no address outside this machine. */
export const realModel: string | undefined = defaultModel.sources
  .map((text) => {
    const source = parseSource(text)
    if (source.type === 'hf-repository') throw new Error('the default model names its file')
    const home = process.env.DRAGOMAN_HOME ?? join(homedir(), '.cache', 'dragoman')
    return source.type === 'path' ? source.path : join(home, 'models', landingPath(source))
  })
  .find((path) => existsSync(path))

/** Why tests of the real model are skipped. */
export const realModelHint = realModel === undefined ? ' (skipped: fetch it with `npm run -s dragoman -- pull default`)' : ''
