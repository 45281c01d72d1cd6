import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where scripts put the programs that tests use. */
export const testTools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')

/** The folder there with what a manifest lists. */
export function installedFrom(name: string, manifest: URL): string {
  const digest = createHash('sha256').update(readFileSync(manifest)).digest('hex').slice(0, 12)
  return join(testTools, `${name}-${digest}`)
}
