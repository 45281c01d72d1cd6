import { describe, expect, test } from 'vitest'
import { checkRelease, findLibraries } from './library.ts'

test('functions of another release are refused', () => {
  expect(() => checkRelease('9.9.9')).toThrow(/calls llama.cpp \S+, but 9.9.9 is installed/)
  expect(() => checkRelease('0.5.0-dev')).not.toThrow()
})

describe('the files of llama.cpp', () => {
  const builds: [string, string, string, string][] = [
    ['Linux', 'libllama.v0.5.0.so', 'libggml.v0.5.0.so', 'libggml-base.so'],
    ['CUDA on Linux', 'libllama.cuda.v0.5.0.so', 'libggml.cuda.v0.5.0.so', 'libggml-base.so'],
    ['Vulkan on Linux', 'libllama.vulkan.v0.5.0.so', 'libggml.vulkan.v0.5.0.so', 'libggml-base.so'],
    ['macOS', 'libllama.dylib', 'libggml.dylib', 'libggml-base.dylib'],
    ['Windows', 'llama.dll', 'ggml.dll', 'ggml-base.dll'],
  ]

  test.each(builds)('the files of llama.cpp are found in %s', (build, llama, ggml, base) => {
    const folder = build === 'Windows' ? 'C:\\bins\\' : '/bins/'
    const others = [
      'libc.so.6',
      'llama-addon.node',
      'libllama-common.so',
      'libggml-cpu-haswell.so',
      'libggml-cuda.so',
      'libggml-vulkan.so',
    ]
    const loaded = [...others, base, llama, ggml].map((name) => folder + name)
    expect(findLibraries(loaded)).toEqual({ llama: folder + llama, ggml: folder + ggml, base: folder + base })
  })

  test('a file that is not loaded is named', () => {
    expect(() => findLibraries(['/bins/libllama.v0.5.0.so'])).toThrow("llama.cpp's library")
  })
})
