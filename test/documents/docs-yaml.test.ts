import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { configSchema } from '../../src/config/schema.ts'

const root = new URL('../../', import.meta.url).pathname
const files = ['README.md', ...readdirSync(join(root, 'docs'), { recursive: true }).map((name) => `docs/${String(name)}`)].filter(
  (name) => name.endsWith('.md') && !name.startsWith('docs/inside/decisions/'),
)
const settings = new Set(Object.keys(configSchema.shape))

/** The YAML blocks of the documents, with their lines. */
const blocks = files.flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(({ 1: yaml = '', index }) => {
    return { place: `${file}:${text.slice(0, index).split('\n').length + 1}`, yaml, first: /^[\w-]+/.exec(yaml)?.[0] ?? '' }
  })
})
const configurations = blocks.filter(({ first }) => settings.has(first))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-docs-'))
})
afterAll(() => rm(folder, { recursive: true }))

// Elsewhere, what a block refers to may be in another one.
const whole = configurations.filter(({ place }) => place.startsWith('docs/clusters.md'))

test.each(configurations)('the settings at $place are known', ({ yaml }) => {
  expect(configSchema.safeParse(parse(yaml)).error?.issues).toBeUndefined()
})

test.each(whole)('the configuration at $place is accepted', async ({ yaml }) => {
  const config = join(folder, 'dragoman.yaml')
  await writeFile(config, yaml)
  await loadConfig({ flags: { config }, env: {}, cwd: folder, userHome: folder })
})

test('docs/clusters.md has a configuration for each system, and nothing else but manifests', () => {
  const own = blocks.filter(({ place }) => place.startsWith('docs/clusters.md'))
  const manifests = own.filter(({ first }) => first === 'apiVersion')
  expect(own.length).toBe(own.filter(({ first }) => first === 'models').length + manifests.length)
  for (const { yaml } of manifests) expect(parse(yaml)).toMatchObject({ kind: expect.any(String), metadata: { name: 'vllm' } })
  const text = readFileSync(join(root, 'docs/clusters.md'), 'utf8')
  const systems = text.split(/^## /m).slice(1)
  expect(systems.length).toBeGreaterThan(11)
  for (const system of systems) {
    expect(system, system.slice(0, 40)).toMatch(/^```yaml\nmodels:/m)
    expect(system, system.slice(0, 40)).toMatch(/\b(Run|Not run)[:.]/)
  }
})
