import type { GenerationEvent } from '../contract/event.ts'
import { isJson } from './is-json.ts'

/** Keeps the arguments of the last call of each choice. */
export class LastCallArguments {
  readonly #arguments = new Map<number, string>()

  see(event: GenerationEvent): void {
    if (event.type === 'tool-call-start') this.#arguments.set(event.choice, '')
    else if (event.type === 'tool-call-delta') {
      this.#arguments.set(event.choice, (this.#arguments.get(event.choice) ?? '') + event.delta)
    }
  }

  /** Whether they are whole, so that an answer which was cut off was not cut off inside of them. */
  isWhole(choice: number): boolean {
    return isJson(this.#arguments.get(choice) ?? '')
  }
}
