import { wavOf } from './wav.ts'

/** The rate that speech models read. */
const samplesPerSecond = 16_000
/** In order; Safari has the second only. */
const types = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus']

/** A recording that runs. `stop` gives it as WAV: servers read that, and not each browser's own form. */
export type Recording = { stop(): Promise<Blob>; cancel(): void }

/** Whether this page may record: browsers allow it on https and localhost only. */
export const canRecord = () => navigator.mediaDevices?.getUserMedia !== undefined

/** Starts to record. Rejects if the reader or the browser does not allow it. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
  const mimeType = types.find((type) => MediaRecorder.isTypeSupported(type))
  const recorder = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType })
  const pieces: Blob[] = []
  const ended = new Promise<void>((resolve) => recorder.addEventListener('stop', () => resolve(), { once: true }))
  recorder.addEventListener('dataavailable', ({ data }) => pieces.push(data))
  recorder.start()
  const end = async () => {
    if (recorder.state !== 'inactive') recorder.stop()
    await ended
    for (const track of stream.getTracks()) track.stop()
  }
  return {
    async stop() {
      await end()
      return asWav(await new Blob(pieces).arrayBuffer())
    },
    cancel: () => void end(),
  }
}

/** The browser decodes what it has recorded, and gives it this rate. */
async function asWav(encoded: ArrayBuffer): Promise<Blob> {
  const context = new OfflineAudioContext(1, 1, samplesPerSecond)
  const sound = await context.decodeAudioData(encoded)
  return new Blob([wavOf(sound.getChannelData(0), samplesPerSecond)], { type: 'audio/wav' })
}
