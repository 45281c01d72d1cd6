import { totalmem } from 'node:os'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { expect, test } from 'vitest'
import { devicesOf, gpusOf } from './devices.ts'
import { openLibrary } from './library.ts'

test('llama.cpp says what it computes on, with its memory; the processor is not a GPU', async () => {
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.disabled,
  })
  const library = openLibrary()
  const [processor] = devicesOf(library).filter(({ kind }) => kind === 0)
  expect(processor).toMatchObject({ name: 'CPU', totalBytes: totalmem() })
  expect(processor?.freeBytes).toBeGreaterThan(0)
  expect(gpusOf(library)).toEqual([])
  const gpu = { ...library, deviceKind: () => 1 }
  expect(gpusOf(gpu)[0]).toMatchObject({ name: 'CPU', totalBytes: totalmem() })
  await llama.dispose()
})
