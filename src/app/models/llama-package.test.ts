import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ensureLlamaPackage } from './llama-package.ts'

/** An empty home, a recipe, and a program in npm's place. */
async function setUp(npm: string) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-engine-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const recipe = join(folder, 'recipe')
  await mkdir(recipe)
  await writeFile(join(recipe, 'manifest.json'), '{"dependencies": {"koffi": "4.5.6", "node-llama-cpp": "1.2.3"}}')
  await writeFile(join(recipe, 'lock.json'), '{}')
  await writeFile(join(recipe, 'package.json'), '{"type": "commonjs"}')
  await writeFile(join(recipe, 'npm.js'), npm)
  vi.stubEnv('npm_execpath', join(recipe, 'npm.js'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const home = join(folder, 'home')
  const notes: string[] = []
  const controller = new AbortController()
  const common = {
    home,
    recipe,
    signal: controller.signal,
    isInstalled: () => false,
    onNote: (note: string) => void notes.push(note),
  }
  return {
    home,
    notes,
    controller,
    target: join(home, 'engines', 'koffi-4.5.6-node-llama-cpp-1.2.3'),
    ensure: () => ensureLlamaPackage(common),
  }
}

const copies = `
  const fs = require('node:fs')
  fs.appendFileSync('asked', process.argv.slice(2).join(' ') + '\\n')
`

test('it is installed once, with the manifest and the lock of this version', async () => {
  const { ensure, notes, target } = await setUp(copies)
  expect(await Promise.all([ensure(), ensure()])).toEqual([target, target])
  expect(await ensure()).toBe(target)
  expect(await readFile(join(target, 'package.json'), 'utf8')).toContain('1.2.3')
  expect(existsSync(join(target, 'package-lock.json'))).toBe(true)
  expect(await readFile(join(target, 'asked'), 'utf8')).toBe('ci --ignore-scripts --no-audit --no-fund --loglevel=error\n')
  expect(notes.filter((note) => note.startsWith('installing llama.cpp (node-llama-cpp 1.2.3)'))).toHaveLength(1)
})

test('a failure says why and what to do, and the next attempt begins anew', async () => {
  const { ensure, target } = await setUp("console.error('ENOTFOUND registry'); process.exit(1)")
  await expect(ensure()).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringMatching(
      /could not be installed with npm: ENOTFOUND registry\n.*install node-llama-cpp beside Dragoman/,
    ),
  })
  expect(existsSync(target)).toBe(false)
})

test('of what npm writes without end, the start of its last lines is the reason', async () => {
  const { ensure } = await setUp("process.stderr.write('first\\nbroken' + 'x'.repeat(4e6), () => process.exit(1))")
  await expect(ensure()).rejects.toThrow(`with npm: first\nbroken${'x'.repeat(494)}\ncheck`)
})

test('an abort ends the install', async () => {
  const { controller, ensure, target } = await setUp('setInterval(() => undefined, 1000)')
  const installing = ensure()
  controller.abort(new Error('stopped'))
  await expect(installing).rejects.toThrow('stopped')
  expect(existsSync(target)).toBe(false)
})

test('a copy beside this program is used', async () => {
  const { home, controller } = await setUp('')
  const used = await ensureLlamaPackage({ home, signal: controller.signal, onNote: () => undefined, isInstalled: () => true })
  expect(used).toBeUndefined()
})
