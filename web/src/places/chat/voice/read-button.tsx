import { useEffect } from 'preact/hooks'
import { chatTexts } from '../../../texts/chat.ts'
import { IconButton } from '../../../ui/button.tsx'
import { readAloud, reader, reading, stopReading } from './read-aloud.ts'

/** Reads the answer around it, without its code; pressed again, it stops. */
export function ReadButton({ id }: { readonly id: string }) {
  useEffect(() => () => (reading.peek() === id ? stopReading() : undefined), [id])
  const by = reader.value
  if (by === undefined) return null
  const isOn = reading.value === id
  const name = isOn ? chatTexts.stopReading : chatTexts.readAloud('model' in by ? by.model : undefined)
  return (
    <IconButton
      icon="speaker"
      name={name}
      aria-pressed={isOn}
      onClick={({ currentTarget }) => {
        if (isOn) stopReading()
        else void readAloud(id, spokenText(currentTarget.closest('article')))
      }}
    />
  )
}

function spokenText(article: Element | null): string {
  const copy = article?.querySelector('.md')?.cloneNode(true)
  if (!(copy instanceof Element)) return ''
  for (const unspoken of copy.querySelectorAll('.md-code, button, annotation')) unspoken.remove()
  // Without a line break, the end of a heading or a row would run into what follows.
  for (const block of copy.querySelectorAll('p, li, tr, h1, h2, h3, h4, h5, h6')) block.append('\n')
  return (copy.textContent ?? '').replaceAll(/\s*\n\s*/g, '\n')
}
