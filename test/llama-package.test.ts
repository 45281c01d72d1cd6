import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { llamaPackage } from '../scripts/llama-package.mjs'

const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))

test('what an installed Dragoman fetches is node-llama-cpp and koffi as they are locked here, without GPU builds', () => {
  const lock = read('package-lock.json')
  const made = llamaPackage({ manifest: read('package.json'), lock })
  const paths = Object.keys(made.lock.packages)
  expect(made.lock.packages['node_modules/node-llama-cpp']).toMatchObject({
    version: made.package.dependencies['node-llama-cpp'],
  })
  for (const part of ['@node-llama-cpp', '@koromix/koffi']) {
    expect(paths.some((path) => path.startsWith(`node_modules/${part}`) && path.endsWith('linux-x64'))).toBe(true)
  }
  expect(paths.length).toBeGreaterThan(50)
  expect(paths).not.toContain('node_modules/vitest')
  for (const path of paths.slice(1)) {
    expect(made.lock.packages[path]?.integrity).toBe(lock.packages[path].integrity)
    expect(made.lock.packages[path]?.dev).toBeUndefined()
    if (/cuda|vulkan/.test(path)) expect(made.lock.packages[path]).toMatchObject({ name: 'empty-npm-package' })
  }
})

test('a dependency that is not locked is an error', () => {
  const manifest = { devDependencies: { 'node-llama-cpp': '1.0.0', koffi: '1.0.0' }, overrides: {} }
  const lock = {
    packages: {
      'node_modules/koffi': { version: '1.0.0' },
      'node_modules/node-llama-cpp': { version: '1.0.0', dependencies: { lost: '1' } },
    },
  }
  expect(() => llamaPackage({ manifest, lock })).toThrow('lost of node_modules/node-llama-cpp is not locked')
})
