import { plainChat } from '../contract/request.ts'
import { loadModel, type ServedModel } from '../contract/served-model.ts'
import type { LoadProgress, LoadRequest, LoadRun } from '../contract/server/lifecycle.ts'
import type { DownloadProgress } from '../registry/fetch/download.ts'

type BringUp = Required<Omit<LoadRun, 'principal'>> & Pick<LoadRequest, 'settings'> & { readonly sizeBytes: number }

const smallChat = {
  prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] },
  reasoning: {},
} as const

/** Loads a model whose files are present, and warms it up. */
export async function bringUp(model: ServedModel, { signal, onProgress, settings, sizeBytes }: BringUp): Promise<void> {
  const { engine } = model
  // The engine warms the model up once it is completely read.
  const showProgress = (fraction: number) =>
    onProgress(
      progressOf(fraction < 1 ? 'loading' : 'warming-up', {
        receivedBytes: Math.round(fraction * sizeBytes),
        totalBytes: sizeBytes,
      }),
    )
  const stop = engine.onState((state) => {
    if (state.type === 'loading') showProgress(state.progress)
  })
  try {
    showProgress(0)
    await loadModel(model, signal)
  } finally {
    stop()
  }
  // A template that renders no conversation is better refused now than with every request.
  if (settings.chatTemplate !== undefined) await engine.capabilities.tokenizer?.render(smallChat, signal)
}

/** The progress of a load; the share of bytes as its fraction. */
export function progressOf(phase: LoadProgress['phase'], { receivedBytes, totalBytes = 0 }: DownloadProgress): LoadProgress {
  const fraction = totalBytes === 0 ? 0 : Math.min(1, receivedBytes / totalBytes)
  return { phase, doneBytes: receivedBytes, totalBytes, fraction }
}
