import { describe, expect, test } from 'vitest'
import { chooseFile } from './choose-file.ts'

const gb = 1e9
const files = (sizes: Record<string, number>) => Object.entries(sizes).map(([path, size]) => ({ path, sizeBytes: size * gb }))

describe('the file of a repository', () => {
  test.each<[string, Record<string, number>, number, string]>([
    ['Q4_K_M before all others', { 'm-Q2_K.gguf': 1, 'm-Q4_K_M.gguf': 2, 'm-Q8_0.gguf': 4 }, 16, 'm-Q4_K_M.gguf'],
    ['Q5_K_M before Q4_K_S', { 'm.Q4_K_S.gguf': 1, 'm.Q5_K_M.gguf': 2 }, 16, 'm.Q5_K_M.gguf'],
    ['Q4_K_S before Q8_0', { 'm-q8_0.gguf': 3, 'm-q4_k_s.gguf': 1 }, 16, 'm-q4_k_s.gguf'],
    ['a smaller one where the preferred one does not fit', { 'm-Q4_K_M.gguf': 5, 'm-Q2_K.gguf': 3 }, 8, 'm-Q2_K.gguf'],
    ['the better one of those that fit', { 'm-Q4_K_M.gguf': 5, 'm-Q2_K.gguf': 2, 'm-Q3_K_M.gguf': 3 }, 8, 'm-Q3_K_M.gguf'],
    ['never a projector', { 'mmproj-m-Q4_K_M.gguf': 1, 'm-F16.gguf': 3 }, 16, 'm-F16.gguf'],
    ['never an importance matrix', { 'imatrix.gguf': 1, 'm-BF16.gguf': 3 }, 16, 'm-BF16.gguf'],
    ['never a part of a split model', { 'm-Q4_K_M-00001-of-00002.gguf': 1, 'm-Q8_0.gguf': 3 }, 16, 'm-Q8_0.gguf'],
    ['never another format', { 'm-Q4_K_M.safetensors': 1, 'm-Q8_0.gguf': 3 }, 16, 'm-Q8_0.gguf'],
    ['a file with an unknown name, if it is the only one', { 'model.gguf': 1 }, 16, 'model.gguf'],
    ['a known quantization before an unknown name', { 'a.gguf': 1, 'b-Q2_K.gguf': 1 }, 16, 'b-Q2_K.gguf'],
    ['the quantization behind the name of the model', { 'Q8_0-like-F32.gguf': 1, 'x-Q5_0.gguf': 1 }, 16, 'x-Q5_0.gguf'],
    ['the one in the outer folder', { 'old/m-Q4_K_M.gguf': 1, 'm-Q4_K_M.gguf': 2 }, 16, 'm-Q4_K_M.gguf'],
    ['the larger of two models', { 'a-0.6b-Q4_K_M.gguf': 1, 'b-4b-Q4_K_M.gguf': 3 }, 16, 'b-4b-Q4_K_M.gguf'],
  ])('the file of a repository is %s', (_, sizes, memory, file) => {
    expect(chooseFile(files(sizes), memory * gb).file).toBe(file)
  })

  test('the file of a repository comes with its size and the reason', () => {
    const several = { 'm-Q4_K_M.gguf': 5, 'm-Q4_K_S.gguf': 3.5, 'm-Q8_0.gguf': 4 }
    expect(chooseFile(files(several), 8 * gb).why).toBe(
      '3.5 GB, Q4_K_S is preferred among the 2 that fit into half of the memory (8.0 GB)',
    )
    expect(chooseFile(files({ 'm.gguf': 1 }), 8 * gb).why).toBe('1.0 GB, the only one that fits into half of the memory (8.0 GB)')
  })
})

describe('without a file to take, the failure', () => {
  test.each<[string, Record<string, number>, string]>([
    ['says that there is no GGUF file', { 'model.safetensors': 1 }, 'the repository has no .gguf file'],
    [
      'lists those that are too large',
      { 'b.gguf': 9, 'a.gguf': 7 },
      '(8.0 GB); to take one anyway, name it: a.gguf (7.0 GB), b.gguf (9.0 GB)',
    ],
    ['lists parts of split models', { 'm-00001-of-00002.gguf': 1 }, 'are not): m-00001-of-00002.gguf (1.0 GB)'],
  ])('the failure %s', (_, sizes, message) => {
    expect(() => chooseFile(files(sizes), 8 * gb)).toThrow(message)
  })

  test('stays one line of bounded length', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`m${index}.gguf`, 100]))
    expect(() => chooseFile(files(many), 8 * gb)).toThrow(/^[^\n]{100,1500} and 460 more$/)
  })
})
