import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bundle = fileURLToPath(new URL('../../../node_modules/node-llama-cpp/llama/gitRelease.bundle', import.meta.url))

/**
 * The chat templates in llama.cpp's sources, by file name, read from the copy that node-llama-cpp brings; undefined where it
 * is not installed. They are their vendors', so they are unpacked into the temporary folder, once for each release.
 */
export function readLlamaTemplates(): ReadonlyMap<string, string> | undefined {
  if (!existsSync(bundle)) return undefined
  const folder = join(tmpdir(), `dragoman-llama-templates-${statSync(bundle).size}`)
  if (!existsSync(folder)) unpack(folder)
  const names = readdirSync(folder).filter((name) => name.endsWith('.jinja'))
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

function unpack(folder: string): void {
  const clone = mkdtempSync(join(tmpdir(), 'dragoman-llama-'))
  try {
    execFileSync('git', ['clone', '--quiet', '--no-checkout', bundle, clone])
    execFileSync('git', ['-C', clone, 'checkout', '--quiet', 'HEAD', '--', 'models/templates'])
    if (!existsSync(folder)) renameSync(join(clone, 'models', 'templates'), folder)
  } catch (error) {
    // Another test process may have been first with the same content.
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(clone, { recursive: true, force: true })
  }
}
