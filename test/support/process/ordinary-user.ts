import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const dist = fileURLToPath(new URL('../../../dist', import.meta.url))
const user = 61_234

/**
 * Runs a script as an ordinary user, with the folder as its own; root alone can. That user need not be able to read the checkout: Node.js and what the
 * script imports, as `./dist/…`, are copied to the folder.
 */
export function runAsOrdinaryUser(folder: string, script: string): string {
  cpSync(process.execPath, join(folder, 'node'))
  for (const part of ['base', 'contract', 'tools']) cpSync(join(dist, part), join(folder, 'dist', part), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  execFileSync('chmod', ['-R', 'a+rX', folder])
  chmodSync(folder, 0o777)
  const node = ['--input-type=module', '-e', script]
  return execFileSync(join(folder, 'node'), node, { cwd: folder, uid: user, gid: user, encoding: 'utf8' })
}
