"""The writing side: plans, index runs, and what each of them changes in the stores."""
