import { expect, test } from 'vitest'
import { refuseHeads } from './heads-of-file.ts'

const tensors = ['eh_proj', 'enorm', 'hnorm'].map((part) => ({ name: `blk.4.nextn.${part}.weight` }))

function refuse(compressRatios: readonly number[]): () => void {
  const own = { block_count: 5, nextn_predict_layers: 1, attention: { compress_ratios: compressRatios } }
  const file = { metadata: { general: { architecture: 'deepseek4' }, deepseek4: own }, fullTensorInfo: tensors }
  return () => refuseHeads(file as unknown as Parameters<typeof refuseHeads>[0])
}

test("a layer for further tokens with a compressed cache, on which llama.cpp's process ends, is refused", () => {
  expect(refuse([0, 0, 4, 128, 128])).toThrow('with a compressed cache')
  expect(refuse([0, 0, 4, 128, 0])).not.toThrow()
})
