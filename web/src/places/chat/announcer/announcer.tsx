import { useEffect, useRef, useState } from 'preact/hooks'
import type { Running } from '../answers.ts'
import { announcedEnd } from './announced.ts'
import { sentenceEnd, spoken } from './sentences.ts'

const everyMs = 1500

/** Reads a running answer to screen readers, by whole sentences and not more often than they can speak. */
export function Announcer({ run }: { readonly run: Running | undefined }) {
  const [words, setWords] = useState('')
  const from = useRef(0)
  useEffect(() => {
    if (run === undefined) return
    from.current = run.message.peek().text.length
    const timer = setInterval(() => {
      const { text } = run.message.peek()
      const end = sentenceEnd(text)
      if (end <= from.current) return
      setWords(spoken(text.slice(from.current, end)).slice(-1000))
      from.current = end
    }, everyMs)
    return () => {
      clearInterval(timer)
      const ended = run.message.peek()
      const rest = spoken(ended.text.slice(from.current)).slice(-1000)
      setWords(`${rest} ${announcedEnd(ended)}`.trim())
    }
  }, [run])
  return (
    <div class="unseen" aria-live="polite">
      {words}
    </div>
  )
}
