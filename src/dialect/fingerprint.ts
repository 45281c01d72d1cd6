import { version } from '../version.ts'

/** What OpenAI's protocols call the system fingerprint: it changes when the same seed may give another text. */
export const systemFingerprint = `dragoman-${version}`
