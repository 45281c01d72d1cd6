import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeRandomModel } from './random-gguf.ts'

/** Where models that tests write are kept between test files. */
const folder = join(tmpdir(), 'dragoman-test-models')

/** A random-weights model file, written by the suite itself when it is not there yet. */
export async function randomModel(): Promise<string> {
  const path = join(folder, 'random-v1.gguf')
  await mkdir(folder, { recursive: true })
  const known = await stat(path).catch(() => undefined)
  if (known === undefined) await writeRandomModel(path)
  return path
}

/** The default model's file, if it was fetched before (`npm run -s dragoman -- pull default`); tests never fetch it. */
export function realModel(): string | undefined {
  const path = process.env.DRAGOMAN_TEST_MODEL
  return path !== undefined && existsSync(path) ? path : undefined
}
