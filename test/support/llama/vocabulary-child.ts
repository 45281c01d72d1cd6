import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { llamaOptions } from '../../../src/engine/llama/worker/context/context.ts'
import { readVocabulary } from '../../../src/engine/llama/worker/sampling/vocabulary.ts'

/** Tells, for each text, the bytes of its tokens joined, and the end tokens' texts. A process of its own: native code. */
process.once('message', async ({ modelPath, texts }: { modelPath: string; texts: string[] }) => {
  const llama = await getLlama({ ...llamaOptions, gpu: false, logLevel: LlamaLogLevel.error })
  const model = await llama.loadModel({ modelPath, vocabOnly: true })
  const vocabulary = readVocabulary(model)
  const joined = texts.map((text) => Buffer.concat(model.tokenize(text, false).map((token) => vocabulary.bytesOf(token))))
  process.send?.({
    joined: joined.map((bytes) => bytes.toString('base64')),
    endTexts: vocabulary.endTokens.map((token) => model.detokenize([token], true)),
    controlTexts: vocabulary.controlTexts,
    controlBytes: model.tokenize('<|im_end|>', true).map((token) => vocabulary.bytesOf(token).length),
  })
  process.disconnect?.()
})
