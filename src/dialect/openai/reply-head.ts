/** The fields that every reply and chunk of one request share. `createdSeconds` is Unix time. */
export type ReplyHead = {
  readonly id: string
  readonly createdSeconds: number
  readonly model: string
  readonly systemFingerprint: string
}
