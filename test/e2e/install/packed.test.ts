import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstAnswer, scriptedConfig } from '../../support/process/installed-server.ts'
import { nodes, packedNpmCache, packInto } from '../../support/process/packed.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'dragoman-packed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hint = packedNpmCache === undefined ? ' (skipped: run `npm run packed`)' : ''

describe.skipIf(packedNpmCache === undefined)(`the packed package, installed by npm without a network${hint}`, () => {
  const home = join(folder, 'home')
  const cache = join(home, 'npm-cache')
  const shared = { tarball: '', registry: '' }

  /** An empty HOME on a machine with this Node.js. */
  const machine = (binary: string) => {
    const npm = { npm_config_cache: cache, npm_config_registry: shared.registry, npm_config_offline: 'true' }
    const PATH = [join(home, 'global', 'bin'), dirname(binary), process.env.PATH].join(delimiter)
    return { cwd: home, env: { ...npm, HOME: home, PATH } }
  }

  beforeAll(async () => {
    mkdirSync(home)
    cpSync(packedNpmCache ?? '', cache, { recursive: true })
    writeFileSync(join(home, 'dragoman.yaml'), scriptedConfig)
    shared.tarball = await packInto(folder)
    // npm knows what it has fetched by the address that it came from.
    shared.registry = (await run('npm', ['config', 'get', 'registry'])).stdout.trim()
    const [oldest = process.execPath] = nodes.flatMap(({ binary }) => binary ?? [])
    const place = ['--global', '--prefix', join(home, 'global')]
    await run('npm', ['install', ...place, shared.tarball], machine(oldest))
  })

  test('is 78 MB with its dependencies', () => {
    expect(sizeOnDisk(join(home, 'global'))).toBeLessThan(78e6)
  })

  // CI tries the oldest, `npm run nightly` all.
  for (const { version, binary } of isFullLength ? nodes : nodes.slice(0, 1)) {
    const missing = binary === undefined ? ' (skipped: run `npm run other-nodes`)' : ''
    test.skipIf(binary === undefined)(`Node.js ${version}: npx runs it, and its command answers${missing}`, async () => {
      const options = machine(binary ?? '')
      expect((await run('node', ['--version'], options)).stdout).toMatch(`v${version}.`)
      const { stdout } = await run('npx', ['--yes', '--package', shared.tarball, 'dragoman', '--version'], options)
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
      expect(await firstAnswer(['dragoman', 'serve', '--port', '0', '--config', 'dragoman.yaml'], options)).toBe(
        'Is anybody there?',
      )
    })
  }
})

function sizeOnDisk(place: string): number {
  const entries = readdirSync(place, { recursive: true, withFileTypes: true })
  return entries.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0)
}
