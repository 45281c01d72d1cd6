import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { findBackend } from '../../../src/engine/llama/find-backend.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'

const modelPath = builtinModel.path
const folders: string[] = []
afterEach(() => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true }))))

/** A folder with a node-llama-cpp and a koffi that are those of this checkout, except that `decode` is what computes. */
async function packagesWith(decode: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-test-'))
  folders.push(folder)
  const real = (path: string) => JSON.stringify(new URL(`../../../node_modules/${path}`, import.meta.url).href)
  const sources = {
    'node-llama-cpp': `export * from ${real('node-llama-cpp/dist/index.js')}`,
    koffi: `import { createRequire } from 'node:module'
      const real = createRequire(${real('koffi/package.json')})('koffi')
      const replaced = { llama_decode: { async: ${decode} } }
      const load = (path) => {
        const library = real.load(path)
        return { func: (name, ...rest) => replaced[name] ?? library.func(name, ...rest), symbol: (name) => library.symbol(name) }
      }
      export default { ...real, load }`,
  }
  for (const [name, source] of Object.entries(sources)) {
    const inside = join(folder, 'node_modules', name)
    await mkdir(inside, { recursive: true })
    await writeFile(join(inside, 'package.json'), `{ "name": "${name}", "type": "module", "exports": "./index.js" }`)
    await writeFile(join(inside, 'index.js'), source)
  }
  return folder
}

test('llama.cpp loads and computes here', async () => {
  expect(await findBackend({ modelPath })).toMatchObject({ gpu: expect.any(String), mathCores: expect.any(Number) })
})

test('a model that cannot be loaded is the failure', async () => {
  expect(await findBackend({ modelPath: '/nowhere.gguf' })).toMatchObject({ failure: expect.stringContaining('nowhere.gguf') })
})

test('a build that loads, and aborts when it computes, is a failure with the words of llama.cpp', async () => {
  const enginePath = await packagesWith(`() => {
      console.error('/build/ggml-cuda.cu:108: CUDA error')
      for (let frame = 0; frame < 60; frame++) console.error('/opt/libggml-base.so(ggml_abort+0x152)[0x7f020c14bf42]')
      process.abort()
    }`)
  expect(await findBackend({ modelPath, enginePath })).toEqual({
    failure:
      'the process that tries it ended (SIGABRT): ggml-cuda.cu:108: CUDA error; docs/gpu.md says what to do about errors of CUDA',
  })
})
