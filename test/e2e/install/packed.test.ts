import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstAnswer, scriptedConfig } from '../../support/process/installed-server.ts'
import { nodes, packedNpmCache, packInto } from '../../support/process/packed.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'dragoman-packed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hint = packedNpmCache === undefined ? ' (skipped: run `npm run packed`)' : ''

describe.skipIf(packedNpmCache === undefined)(`the packed package, installed by npm without a network${hint}`, () => {
  const shared = { tarball: '', registry: '' }
  beforeAll(async () => {
    shared.tarball = await packInto(folder)
    // npm knows what it has fetched by the address that it came from.
    shared.registry = (await run('npm', ['config', 'get', 'registry'])).stdout.trim()
  })

  /** An empty HOME on a machine with this Node.js. */
  function createMachine(version: string, binary: string) {
    const home = join(folder, `home-${version}`)
    const cache = join(home, 'npm-cache')
    mkdirSync(home)
    cpSync(packedNpmCache ?? '', cache, { recursive: true })
    writeFileSync(join(home, 'dragoman.yaml'), scriptedConfig)
    const npm = { npm_config_cache: cache, npm_config_registry: shared.registry, npm_config_offline: 'true' }
    const env = {
      ...npm,
      npm_config_update_notifier: 'false',
      HOME: home,
      PATH: [join(home, 'global', 'bin'), dirname(binary), process.env.PATH].join(delimiter),
    }
    return { home, env }
  }

  for (const { version, binary } of nodes) {
    const missing = binary === undefined ? ' (skipped: run `npm run other-nodes`)' : ''
    test.skipIf(binary === undefined)(`Node.js ${version}: npx runs it, and npm i -g gives its command${missing}`, async () => {
      const { home, env } = createMachine(version, binary ?? '')
      const options = { cwd: home, env }
      expect((await run('node', ['--version'], options)).stdout).toMatch(`v${version}.`)
      const { stdout } = await run('npx', ['--yes', '--package', shared.tarball, 'dragoman', '--version'], options)
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
      await run('npm', ['install', '--global', '--prefix', join(home, 'global'), shared.tarball], options)
      expect(await firstAnswer(['dragoman', 'serve', '--port', '0', '--config', 'dragoman.yaml'], options)).toBe(
        'Is anybody there?',
      )
      expect(sizeOnDisk(join(home, 'global'))).toBeLessThan(60e6)
    })
  }
})

function sizeOnDisk(place: string): number {
  const entries = readdirSync(place, { recursive: true, withFileTypes: true })
  return entries.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0)
}
