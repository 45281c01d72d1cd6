import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** The files and packages that `entry` loads at once: without types, and without what is imported when it is needed. */
function loadedBy(entry: URL): { files: readonly string[]; packages: readonly string[] } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const open = [entry]
  for (const file of open) {
    const path = fileURLToPath(file)
    if (files.has(path)) continue
    files.add(path)
    const source = readFileSync(path, 'utf8')
    for (const [, names = '', name = ''] of source.matchAll(/^(?:import|export)\s+(?!type\b)([^'";]*?\bfrom\s+)?'([^']+)'/gm)) {
      const isTypesOnly = /^\{\s*(type\s+\w+(\s+as\s+\w+)?\s*,?\s*)+\}\s*from/.test(names)
      if (isTypesOnly) continue
      if (name.startsWith('.')) open.push(new URL(name, file))
      else if (!name.startsWith('node:')) packages.add(name)
    }
  }
  return { files: [...files], packages: [...packages].sort() }
}

const source = (path: string) => new URL(`../src/${path}`, import.meta.url)

// Each command loads the program; `serve` alone needs what serves models, which takes five times as long to load.
test('the command line loads nothing that only a server needs', () => {
  const { files, packages } = loadedBy(source('cli/main.ts'))
  expect(packages).toEqual(['commander', 'fastest-levenshtein', 'pino', 'zod'])
  expect(files.length).toBeLessThan(60)
})

test('what a server loads is found', () => {
  const { files, packages } = loadedBy(source('cli/serve.ts'))
  expect(packages).toEqual(expect.arrayContaining(['fastify', 'undici', 'zod']))
  expect(files.length).toBeGreaterThan(300)
})
