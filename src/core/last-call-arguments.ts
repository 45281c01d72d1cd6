import type { GenerationEvent } from '../contract/event.ts'
import { isJson } from './is-json.ts'

/** Collects the arguments of each choice's last call. */
export class LastCallArguments {
  readonly #arguments = new Map<number, string>()

  observe(event: GenerationEvent): void {
    if (event.type === 'tool-call-start') this.#arguments.set(event.choice, '')
    else if (event.type === 'tool-call-delta') {
      this.#arguments.set(event.choice, (this.#arguments.get(event.choice) ?? '') + event.delta)
    }
  }

  /** Whether they are complete JSON: the answer was then not truncated inside them. */
  areComplete(choice: number): boolean {
    return isJson(this.#arguments.get(choice) ?? '')
  }
}
