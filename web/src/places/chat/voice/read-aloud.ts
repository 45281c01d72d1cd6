import { computed, signal } from '@preact/signals'
import { call, describe, send } from '../../../api/client.ts'
import { say } from '../../../ui/said.tsx'
import { speaker } from '../models.ts'
import { piecesOf } from './pieces.ts'

/** The id of the message that is read aloud. */
export const reading = signal<string | undefined>(undefined)
const deviceVoice = signal(findDeviceVoice())
/** A model of the server, or else a voice of this device, to which the text stays; undefined: nobody can read. */
export const reader = computed(() => {
  if (speaker.value !== undefined) return { model: speaker.value }
  return deviceVoice.value === undefined ? undefined : { voice: deviceVoice.value }
})

let leaving = new AbortController()

export function stopReading(): void {
  leaving.abort()
  reading.value = undefined
}

/** Reads a text until its end, or until `stopReading`. Call it while a click is handled: browsers play no sound otherwise. */
export async function readAloud(id: string, text: string): Promise<void> {
  stopReading()
  leaving = new AbortController()
  const { signal } = leaving
  const pieces = piecesOf(text)
  const by = reader.value
  if (by === undefined || pieces.length === 0) return
  reading.value = id
  try {
    await ('model' in by ? playFromServer(by.model, pieces, signal) : speakHere(by.voice, pieces, signal))
  } catch (error) {
    if (!signal.aborted) say(describe(error))
  }
  if (!signal.aborted) reading.value = undefined
}

/** Each piece is made while the one before is heard. */
async function playFromServer(model: string, pieces: readonly string[], signal: AbortSignal): Promise<void> {
  const context = new AudioContext()
  try {
    const voice = await voiceOf(model, signal)
    const make = async (input: string) => {
      const made = await send('v1/audio/speech', { body: { model, input, voice, response_format: 'wav' }, signal })
      return context.decodeAudioData(await made.arrayBuffer())
    }
    let next = make(pieces[0] ?? '')
    for (const piece of [...pieces.slice(1), undefined]) {
      const sound = await next
      if (piece !== undefined) {
        next = make(piece)
        // Its failure is thrown when its turn comes.
        next.catch(() => undefined)
      }
      await play(context, sound, signal)
    }
  } finally {
    await context.close()
  }
}

/** OpenAI's first voice, unless the server lists others only. */
async function voiceOf(model: string, signal: AbortSignal): Promise<string> {
  const usual = 'alloy'
  try {
    type Voice = string | { readonly id?: string; readonly name?: string }
    const path = `v1/audio/voices?model=${encodeURIComponent(model)}`
    const { voices = [] } = await call<{ readonly voices?: readonly Voice[] }>(path, { signal })
    const names = voices.flatMap((voice) => (typeof voice === 'string' ? voice : (voice.id ?? voice.name ?? [])))
    return names.includes(usual) ? usual : (names[0] ?? usual)
  } catch {
    // Many servers have no list.
    signal.throwIfAborted()
    return usual
  }
}

function play(context: AudioContext, sound: AudioBuffer, signal: AbortSignal): Promise<void> {
  const source = new AudioBufferSourceNode(context, { buffer: sound })
  source.connect(context.destination)
  return new Promise((resolve, reject) => {
    source.onended = () => resolve()
    signal.addEventListener('abort', () => {
      source.stop()
      reject(signal.reason)
    })
    source.start()
  })
}

async function speakHere(voice: SpeechSynthesisVoice, pieces: readonly string[], signal: AbortSignal): Promise<void> {
  signal.addEventListener('abort', () => speechSynthesis.cancel())
  for (const piece of pieces) {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const spoken = Object.assign(new SpeechSynthesisUtterance(piece), { voice, lang: voice.lang })
      spoken.onend = () => resolve()
      spoken.onerror = ({ error }) => reject(new Error(error))
      speechSynthesis.speak(spoken)
    })
  }
}

/** Other voices of a browser send the text to its maker. */
function findDeviceVoice(): SpeechSynthesisVoice | undefined {
  if (!('speechSynthesis' in globalThis)) return undefined
  const own = speechSynthesis.getVoices().filter(({ localService }) => localService)
  const language = navigator.language.slice(0, 2)
  return own.find(({ lang }) => lang.startsWith(language)) ?? own[0]
}

if ('speechSynthesis' in globalThis) {
  // They are known some time after the page has begun.
  speechSynthesis.addEventListener('voiceschanged', () => {
    deviceVoice.value = findDeviceVoice()
  })
}
