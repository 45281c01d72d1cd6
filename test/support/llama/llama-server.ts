import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testTools } from '../process/test-tools.ts'

/**
 * A llama-server to test with: the one that DRAGOMAN_TEST_LLAMA_SERVER names, that `npm run llama-server` has built, or on
 * PATH; undefined where there is none.
 */
export const llamaServerBinary: string | undefined = [
  process.env.DRAGOMAN_TEST_LLAMA_SERVER,
  builtLlamaServer(),
  ...llamaServersOnPath(),
].find((path) => path !== undefined && existsSync(path))

/** Why tests with a real llama-server are skipped. */
export const llamaServerHint = llamaServerBinary === undefined ? ' (skipped: build one with `npm run llama-server`)' : ''

/** Where scripts/llama-server.mjs puts it. */
export function builtLlamaServer(): string | undefined {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
  const release = path('../../../node_modules/node-llama-cpp/llama/binariesGithubRelease.json')
  if (!existsSync(release)) return undefined
  const version = createHash('sha256')
    .update(readFileSync(path('./llama-server/CMakeLists.txt')))
    .digest('hex')
    .slice(0, 8)
  return join(testTools, `llama-server-${JSON.parse(readFileSync(release, 'utf8')).release}-${version}`, 'llama-server')
}

/** Where it would be on PATH. */
export function llamaServersOnPath(): string[] {
  return (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'llama-server'))
}
