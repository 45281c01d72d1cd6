import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { bundleOf } from '../../../src/bundles/bundle-of.ts'

const dist = fileURLToPath(new URL('../../../dist', import.meta.url))

test('the build bundles the programs that start most often', () => {
  for (const program of ['main', 'server-worker', 'llama-worker'] as const) {
    expect(bundleOf(program)?.href).toBe(pathToFileURL(join(dist, 'bundle', `${program}.js`)).href)
  }
})

// A checkout that one user builds may be run by another, such as that of a service.
test('who may read what is compiled may read the bundles', () => {
  expect(statSync(join(dist, 'bundle')).mode).toBe(statSync(join(dist, 'cli')).mode)
})

// To import its five hundred modules takes each worker a fifth of a second.
test('a worker of a model has node-llama-cpp in its bundle', () => {
  const worker = readFileSync(join(dist, 'bundle', 'llama-worker.js'), 'utf8')
  expect(worker).toContain('NODE_LLAMA_CPP')
  expect(worker).not.toMatch(/(?:from|import) ?["']node-llama-cpp["']/)
})

// The page is built anew when a file there changes, under the servers of the tests that run.
test('the check of types writes nothing beside the sources of the page', () => {
  const sources = fileURLToPath(new URL('../../../web', import.meta.url))
  expect(readdirSync(sources).filter((name) => name.startsWith('.'))).toEqual([])
})

test('what was compiled after the bundles is what runs', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'dragoman-bundles-')), 'dist')
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true }))
  cpSync(join(dist, 'bundles'), join(folder, 'bundles'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const bundle = async () => {
    const copy = (await import(pathToFileURL(join(folder, 'bundles/bundle-of.js')).href)) as { bundleOf: typeof bundleOf }
    return copy.bundleOf('main')
  }
  expect(await bundle()).toBeUndefined()
  const [program, compiled] = [join(folder, 'bundle/main.js'), join(folder, '.tsbuildinfo')]
  mkdirSync(join(folder, 'bundle'))
  for (const [file, seconds] of [
    [program, 2],
    [compiled, 1],
  ] as const) {
    writeFileSync(file, '')
    utimesSync(file, seconds, seconds)
  }
  expect(await bundle()).toBeDefined()
  utimesSync(compiled, 3, 3)
  expect(await bundle()).toBeUndefined()
})
