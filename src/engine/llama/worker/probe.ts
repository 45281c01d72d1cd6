import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { messageOf } from '../../../contract/errors.ts'
import { endWithParent } from './parent-watch.ts'

/** A child process that reports to its parent whether llama.cpp loads and what it runs on, then ends. */
// A driver may hang while it is loaded.
endWithParent(process.ppid)
try {
  const llama = await getLlama({
    gpu: 'auto',
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.disabled,
  })
  const devices = llama.gpu === false ? [] : await llama.getGpuDeviceNames()
  process.send?.({ gpu: llama.gpu === false ? 'none' : llama.gpu, devices, mathCores: llama.cpuMathCores })
} catch (error) {
  process.send?.({ failure: messageOf(error) })
}
process.disconnect?.()
