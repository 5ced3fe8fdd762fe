/* The least a process can do. */
int main(void)
{
  return 0;
}
