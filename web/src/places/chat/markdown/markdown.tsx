import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { copyText } from '../../../ui/copy.tsx'
import { MarkdownView } from './view.ts'

type MarkdownProps = {
  readonly text: string
  /** More of it may come. */
  readonly isGrowing: boolean
}

export function Markdown({ text, isGrowing }: MarkdownProps) {
  const element = useRef<HTMLDivElement>(null)
  const view = useRef<MarkdownView>(undefined)
  useLayoutEffect(() => {
    if (element.current === null) return
    view.current ??= new MarkdownView(element.current)
    view.current.update(text, isGrowing)
  }, [text, isGrowing])
  useEffect(() => {
    const room = element.current
    const copy = ({ target }: Event) => {
      if (!(target instanceof HTMLElement) || !target.classList.contains('md-copy')) return
      void copyText(target.closest('.md-code')?.querySelector('pre')?.textContent ?? '', 'the code')
    }
    room?.addEventListener('click', copy)
    return () => {
      room?.removeEventListener('click', copy)
      view.current?.close()
    }
  }, [])
  return <div class="md" data-growing={isGrowing ? '' : undefined} ref={element} />
}
