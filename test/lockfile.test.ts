import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

type Entry = { name?: string; version: string; resolved?: string; cpu?: string[]; optionalDependencies?: Record<string, string> }
const lockfile = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Entry>
}
const entries = Object.entries(lockfile.packages)
const llama = entries.filter(([path]) => path.startsWith('node_modules/@node-llama-cpp/'))

describe('package-lock.json', () => {
  test('a plain install brings no GPU builds: they are an empty package', () => {
    const gpu = llama.filter(([path]) => /cuda|vulkan/.test(path))
    expect(gpu.length).toBeGreaterThan(0)
    for (const [path, entry] of gpu) expect(entry.name, path).toBe('empty-npm-package')
  })

  test('each other build is for one kind of machine, so that none is installed on another', () => {
    const builds = llama.filter(([path]) => !/cuda|vulkan/.test(path))
    for (const [path, { cpu }] of builds) expect(cpu, path).toHaveLength(1)
  })

  test('every optional package has an entry: `npm ci` refuses a lock file with gaps', () => {
    for (const [path, { optionalDependencies = {} }] of entries) {
      for (const name of Object.keys(optionalDependencies)) {
        const known = entries.some(([other]) => other.endsWith(`node_modules/${name}`))
        expect(known, `${name}, of ${path || 'the project'}: run \`npm run lock\``).toBe(true)
      }
    }
  })

  test('no entry names the registry that it came from', () => {
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })
})
